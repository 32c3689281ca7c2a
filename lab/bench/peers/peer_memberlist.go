// SPDX-License-Identifier: BSD-3-Clause
// Group membership by HashiCorp's memberlist (SWIM with Lifeguard), measured as rzbench measures
// our daemons:
//
//	peer_memberlist MEMBERS PERIOD_MS PHASE_MS
//
// starts so many members, each a process of its own on loopback; when all know all and the phase is
// over it kills one (SIGKILL) and prints `killed AT_NS`, and for each survivor `news MEMBER AT_NS`,
// when that one's user is told. `false MEMBER OF` is news of one that lives. Times are
// CLOCK_MONOTONIC. Parameters are those of DefaultLANConfig, scaled so that a probe begins every
// period.
package main

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/hashicorp/memberlist"
)

func nowNs() int64 {
	const clockMonotonic = 1
	var t syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "peer_memberlist:", err)
	os.Exit(1)
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		fail(fmt.Errorf("'%s' is not a number", text))
	}
	return n
}

// ---- a member

type ears struct{}

func (ears) NotifyJoin(*memberlist.Node)   { fmt.Println("met") }
func (ears) NotifyUpdate(*memberlist.Node) {}
func (ears) NotifyLeave(node *memberlist.Node) {
	at := nowNs()
	fmt.Println("lost", node.Name, at)
}

func config(name string, period time.Duration) *memberlist.Config {
	c := memberlist.DefaultLANConfig()
	c.Name = name
	c.BindAddr = "127.0.0.1"
	c.BindPort = 0
	c.AdvertisePort = 0
	c.ProbeTimeout = c.ProbeTimeout * period / c.ProbeInterval
	c.GossipInterval = c.GossipInterval * period / c.ProbeInterval
	c.ProbeInterval = period
	c.Logger = log.New(io.Discard, "", 0)
	c.Events = ears{}
	return c
}

// Lives until its standard input ends, so that nothing is left behind.
func member(name string, period time.Duration, join string) {
	list, err := memberlist.Create(config(name, period))
	if err != nil {
		fail(err)
	}
	fmt.Println("port", list.LocalNode().Port)
	if join != "" {
		if _, err := list.Join([]string{join}); err != nil {
			fail(err)
		}
	}
	io.Copy(io.Discard, os.Stdin)
}

// ---- the one that starts and kills them

type line struct {
	member int
	words  []string
}

func start(i, periodMs int, join string, lines chan line) *exec.Cmd {
	command := exec.Command("/proc/self/exe", "member", strconv.Itoa(i), strconv.Itoa(periodMs), join)
	command.Env = append(os.Environ(), "GOMAXPROCS=1")
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	command.Stderr = os.Stderr
	if _, err := command.StdinPipe(); err != nil {
		fail(err)
	}
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		fail(err)
	}
	go func() {
		for scan := bufio.NewScanner(out); scan.Scan(); {
			lines <- line{i, strings.Fields(scan.Text())}
		}
		lines <- line{i, []string{"ended"}}
	}()
	return command
}

// Takes lines until take has had enough; only the victim may end.
func listen(lines chan line, victim int, take func(line) bool) {
	for {
		l := <-lines
		if l.words[0] == "ended" && l.member != victim {
			fail(fmt.Errorf("member %d has ended", l.member))
		}
		if take(l) {
			return
		}
	}
}

func main() {
	runtime.LockOSThread() // the members fail with this thread
	if len(os.Args) == 5 && os.Args[1] == "member" {
		member(os.Args[2], time.Duration(number(os.Args[3]))*time.Millisecond, os.Args[4])
		return
	}
	if len(os.Args) != 4 || number(os.Args[1]) < 2 || number(os.Args[2]) < 1 {
		fail(fmt.Errorf("usage: peer_memberlist MEMBERS PERIOD_MS PHASE_MS"))
	}
	members, periodMs, phaseMs := number(os.Args[1]), number(os.Args[2]), number(os.Args[3])
	lines := make(chan line, 1024)
	met, known, join := make([]int, members), 0, ""
	commands := []*exec.Cmd{start(0, periodMs, "", lines)}
	all := func(l line) bool {
		if l.words[0] == "port" && join == "" {
			join = "127.0.0.1:" + l.words[1]
			for i := 1; i < members; i++ {
				commands = append(commands, start(i, periodMs, join, lines))
			}
		}
		if l.words[0] == "met" {
			met[l.member]++
			if met[l.member] == members {
				known++
			}
		}
		return known == members
	}
	listen(lines, -1, all)
	time.Sleep(time.Duration(phaseMs) * time.Millisecond)
	victim, told := members/2, 0
	fmt.Println("killed", nowNs())
	commands[victim].Process.Kill()
	listen(lines, victim, func(l line) bool {
		if l.words[0] != "lost" || l.member == victim {
			return false
		}
		if number(l.words[1]) != victim {
			fmt.Println("false", l.member, l.words[1])
			return false
		}
		fmt.Println("news", l.member, l.words[2])
		told++
		return told == members-1
	})
	for _, command := range commands {
		command.Process.Kill()
		command.Wait()
	}
}
