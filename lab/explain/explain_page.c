/* SPDX-License-Identifier: BSD-3-Clause */
/* The page: all steps, one of them visible, and a slider. It loads nothing, and says so to the
 * browser. Without scripts it shows all steps below one another. */
#include "explain/explain_state.h"

static const char style[] =
    ":root{color-scheme:light dark;--ink:#1b2430;--soft:#4a5563;--line:#d5dae1;--back:#f5f6f8;"
    "--paper:#fff;--accent:#1f62b0}"
    "*{box-sizing:border-box}"
    "body{margin:0;background:var(--back);color:var(--ink);"
    "font:16px/1.5 system-ui,'DejaVu Sans',Helvetica,Arial,sans-serif}"
    "main{max-width:1240px;margin:0 auto;padding:24px 20px 60px}"
    "h1{font-size:1.7rem;line-height:1.2;margin:0 0 .4em}.lead{max-width:75ch;color:var(--soft)}"
    ".split{display:grid;grid-template-columns:minmax(0,760px) minmax(260px,1fr);gap:20px;"
    "align-items:start}@media(max-width:900px){.split{grid-template-columns:minmax(0,1fr)}}"
    "figure{margin:0;background:var(--paper);border:1px solid var(--line);border-radius:12px;"
    "padding:14px}figure svg{width:100%;height:auto;display:block}"
    "figcaption{min-height:5.2em;padding:8px 10px 0}figcaption p{margin:0 0 .3em}"
    ".controls{display:flex;gap:8px;align-items:center;flex-wrap:wrap}.controls+.keys{margin:4px 0}"
    ".controls input{flex:1 1 200px;accent-color:var(--accent);height:28px}"
    "button{font:inherit;min-width:42px;height:38px;border:1px solid var(--line);"
    "border-radius:8px;background:var(--paper);color:var(--ink);cursor:pointer}"
    "button:hover{border-color:var(--accent)}"
    ":focus-visible{outline:3px solid var(--accent);outline-offset:2px}"
    "output{min-width:5.5em;text-align:right;font-variant-numeric:tabular-nums}"
    ".list{margin:0;padding:0;list-style:none;max-height:720px;overflow:auto;"
    "border:1px solid var(--line);border-radius:12px;background:var(--paper)}"
    ".list a{display:block;padding:7px 12px;color:inherit;text-decoration:none;font-size:.9rem;"
    "border-bottom:1px solid var(--line)}.list a:hover{background:var(--back)}"
    ".list a[aria-current]{background:#fff3cf;box-shadow:inset 4px 0 0 #c8960c;color:#1b2430}"
    ".time{overflow-x:auto;margin-top:20px;background:var(--paper);border:1px solid var(--line);"
    "border-radius:12px;padding:10px}h2{font-size:1.1rem;margin:28px 0 0}"
    ".keys,.cmd{color:var(--soft);font-size:.9rem;overflow-wrap:anywhere}"
    ".js .frame{display:none}.js .frame.on{display:block}"
    "@media(prefers-color-scheme:dark){:root{--ink:#e8ebf0;--soft:#aab3bf;--line:#3a424d;"
    "--back:#14181d;--paper:#1e242b;--accent:#7db4f5}.paper{fill:#1e242b}"
    ".id,.caption{fill:#e8ebf0}.label{fill:#c2cad4;stroke:#1e242b}.edge{stroke:#343c47}"
    ".strong,.lane{stroke:#5a6573}.halo{stroke:#fff;stroke-opacity:.2}"
    ".t0{fill:#252c35;stroke:#9aa5b3}.t1{fill:#173a63;stroke:#7db4f5}"
    ".t2{fill:#164428;stroke:#6fcf8d}.t3{fill:#553a0c;stroke:#f0b04c}"
    ".t4{fill:#2b3037;stroke:#8b929c}.cross{stroke:#ff8a80}"
    ".m0{stroke:#7db4f5}.m1{stroke:#6fcf8d}.m2{stroke:#ffab70}.m3{stroke:#d0a3ee}"
    ".h0{fill:#7db4f5}.h1{fill:#6fcf8d}.h2{fill:#ffab70}.h3{fill:#d0a3ee}}"
    "@media print{.controls,.keys,.list{display:none}.js .frame{display:block;"
    "break-inside:avoid}.split{display:block}}";

static const char script[] =
    "(function(){'use strict';var d=document,r=d.documentElement;r.classList.add('js');"
    "var f=d.querySelectorAll('.frame'),l=d.querySelectorAll('.list a'),"
    "s=d.getElementById('slider'),o=d.getElementById('at'),p=d.getElementById('play'),"
    "c=d.querySelector('.time .cursor'),w=c?+c.getAttribute('width'):0,"
    "x0=c?+c.getAttribute('x'):0,n=f.length,at=0,timer=0;"
    "function show(i,keep){i=Math.max(0,Math.min(n-1,i));f[at].classList.remove('on');"
    "l[at].removeAttribute('aria-current');at=i;f[at].classList.add('on');"
    "l[at].setAttribute('aria-current','step');s.value=at+1;"
    "s.setAttribute('aria-valuetext','step '+(at+1)+' of '+n);"
    "o.textContent=(at+1)+' of '+n;if(c){c.setAttribute('x',x0+at*w)}"
    "var b=l[at].parentNode.parentNode,y=l[at].offsetTop-b.offsetTop;"
    "if(y<b.scrollTop||y>b.scrollTop+b.clientHeight-60){b.scrollTop=y-80}"
    "if(!keep){history.replaceState(null,'','#step-'+(at+1))}}"
    "function stop(){if(timer){clearInterval(timer);timer=0;p.textContent='Play'}}"
    "function play(){if(timer){stop();return}if(at===n-1){show(0)}p.textContent='Pause';"
    "timer=setInterval(function(){if(at===n-1){stop()}else{show(at+1)}},1600)}"
    "function go(i){stop();show(i)}"
    "function hash(){var m=/^#step-(\\d+)$/.exec(location.hash);return m?m[1]-1:0}"
    "s.addEventListener('input',function(){go(s.value-1)});"
    "d.getElementById('back').addEventListener('click',function(){go(at-1)});"
    "d.getElementById('next').addEventListener('click',function(){go(at+1)});"
    "p.addEventListener('click',play);"
    "for(var i=0;i<n;i++){(function(i){l[i].addEventListener('click',function(e){"
    "e.preventDefault();go(i)})})(i)}"
    "d.addEventListener('keydown',function(e){if(e.ctrlKey||e.metaKey||e.altKey){return}"
    "var k=e.key,own=e.target===s,b=e.target.tagName==='BUTTON'||e.target.tagName==='A';"
    "if(!own&&k==='ArrowRight'||k==='n'){go(at+1)}"
    "else if(!own&&k==='ArrowLeft'||k==='p'){go(at-1)}"
    "else if(!own&&k==='Home'){go(0)}else if(!own&&k==='End'){go(n-1)}"
    "else if(k===' '&&!b){play()}else{return}e.preventDefault()});"
    "window.addEventListener('hashchange',function(){go(hash())});show(hash(),true)})();";

static void draw_sentences(const struct rz_explain *explain, uint32_t step, const char *before,
                           const char *after, FILE *out)
{
    const struct rz_explain_frame *frame = rz_explain_shown(explain, step);
    char text[512];
    for (uint32_t i = 0; i < frame->n_sentences; i++) {
        rz_explain_sentence_text(explain, &frame->sentence[i], text, sizeof(text));
        fputs(before, out);
        rz_explain_escape(text, out);
        fputs(after, out);
    }
}

/* Above the picture: there they stay in view, and do not move with the length of a step's text. */
static void draw_controls(const struct rz_explain *explain, FILE *out)
{
    fprintf(out,
            "<div class=\"controls\"><button type=\"button\" id=\"back\" aria-label=\"One step "
            "back\">&#9664;</button><button type=\"button\" id=\"next\" aria-label=\"One step "
            "on\">&#9654;</button><button type=\"button\" id=\"play\">Play</button>"
            "<input type=\"range\" id=\"slider\" min=\"1\" max=\"%u\" value=\"1\" "
            "aria-label=\"Step\"><output id=\"at\" for=\"slider\">1 of %u</output></div>\n"
            "<p class=\"keys\">Keys: left and right arrow, Home, End; space plays.</p>\n",
            explain->n_shown, explain->n_shown);
}

static void draw_stage(const struct rz_explain *explain, FILE *out)
{
    fputs("<figure>\n", out);
    draw_controls(explain, out);
    for (uint32_t step = 1; step <= explain->n_shown; step++) {
        fprintf(out,
                "<div class=\"frame\" id=\"frame-%u\"><svg viewBox=\"0 0 %d %d\" role=\"img\" "
                "aria-label=\"Step %u\">\n",
                step, RZ_EXPLAIN_WIDTH, RZ_EXPLAIN_HEIGHT, step);
        rz_explain_draw_frame(explain, step, out);
        fputs("</svg><figcaption aria-live=\"polite\">", out);
        draw_sentences(explain, step, "<p>", "</p>", out);
        fputs("</figcaption></div>\n", out);
    }
    fputs("</figure>\n", out);
}

static void draw_timeline(const struct rz_explain *explain, FILE *out)
{
    unsigned width, height;
    rz_explain_timeline_size(explain, &width, &height);
    fprintf(out,
            "<h2>The whole run</h2>\n<div class=\"time\" tabindex=\"0\" role=\"region\" "
            "aria-label=\"The run in time\"><svg width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\" "
            "role=\"img\" aria-label=\"A line for each member; steps from left to right\">\n",
            width, height, width, height);
    rz_explain_draw_lines(explain, out);
    fputs("</svg></div>\n", out);
}

void rz_explain_draw_page(const struct rz_explain *explain, FILE *out)
{
    char command[4608];
    rz_explain_command(explain, command, sizeof(command));
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
          "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
          out);
    rz_explain_escape(explain->subject->title, out);
    fprintf(out, "</title>\n<style>%s%s</style></head>\n<body><main>\n<h1>", rz_explain_style,
            style);
    rz_explain_escape(explain->subject->title, out);
    fputs("</h1>\n<p class=\"lead\">", out);
    rz_explain_escape(explain->subject->summary, out);
    fputs("</p>\n<svg width=\"0\" height=\"0\" style=\"position:absolute\" aria-hidden=\"true\">",
          out);
    rz_explain_draw_heads(out);
    fputs("</svg>\n<div class=\"split\">\n", out);
    draw_stage(explain, out);
    fputs("<ol class=\"list\" aria-label=\"Steps\">\n", out);
    for (uint32_t step = 1; step <= explain->n_shown; step++) {
        fprintf(out, "<li><a href=\"#frame-%u\"><b>%u.</b>", step, step);
        draw_sentences(explain, step, " ", "", out);
        fputs("</a></li>\n", out);
    }
    fputs("</ol></div>\n", out);
    draw_timeline(explain, out);
    fputs("<p class=\"cmd\">The members are the protocol objects that Rhizome&#8217;s daemons run, "
          "in "
          "its simulator. The same run again: <code>",
          out);
    rz_explain_escape(command, out);
    fprintf(out, "</code></p>\n</main><script>%s</script></body></html>\n", script);
}
