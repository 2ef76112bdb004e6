//! The style sheet. Colours are variables so that dark mode and print change them in one place.
//!
//! The palette is Okabe and Ito's (2008), legible with every common colour blindness; each line
//! also has a dash pattern of its own.

/// The style sheet of every page.
pub const CSS: &str = r#"
:root{--bg:#fff;--fg:#1c2024;--dim:#5b646d;--edge:#d9dee3;--soft:#f5f7f9;--link:#0b5cad;
--c0:#0072b2;--c1:#c44e00;--c2:#00835f;--c3:#b0528a;--c4:#a87000;--c5:#2b8cc4;--c6:#6a51a3;
--c7:#555b61;
--good:#00704f;--bad:#b3420a;--note:#6b5900}
@media(prefers-color-scheme:dark){:root{--bg:#14171a;--fg:#e6e9ec;--dim:#9aa4ad;--edge:#343b42;
--soft:#1c2125;--link:#7db8f0;--c0:#56b4e9;--c1:#f08a4b;--c2:#35c79a;--c3:#e39ac5;--c4:#e6b34d;
--c5:#9bd3f5;--c6:#b3a0e6;--c7:#b5bcc3;--good:#4fd1a5;--bad:#f5a37a;--note:#e0c766}}
*{box-sizing:border-box}
html{color-scheme:light dark;-webkit-text-size-adjust:100%}
body{margin:0;background:var(--bg);color:var(--fg);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
a{color:var(--link)}
.skip{position:absolute;left:-999px}.skip:focus{left:8px;top:8px;background:var(--bg);padding:8px}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
header,main,footer{max-width:1080px;margin:0 auto;padding:0 20px}
header{padding-top:36px}
h1{font-size:1.9rem;line-height:1.2;margin:0 0 6px;letter-spacing:-.01em}
h2{font-size:1.35rem;margin:52px 0 10px;padding-top:14px;border-top:1px solid var(--edge)}
h3{font-size:1.02rem;margin:28px 0 6px}
p{margin:8px 0;max-width:72ch}
.dim,figcaption,caption{color:var(--dim)}
nav ul{display:flex;flex-wrap:wrap;gap:4px 18px;list-style:none;margin:18px 0 0;padding:0}
nav a{text-decoration:none}nav a:hover{text-decoration:underline}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,235px),1fr));gap:14px;
margin:26px 0 0}
.card{border:1px solid var(--edge);border-radius:10px;padding:14px 16px;background:var(--soft)}
.card h2{font-size:1.05rem;margin:0;padding:0;border:0;overflow-wrap:anywhere}
.card p{margin:0 0 8px;font-size:.82rem}
.card dl{margin:0;display:grid;gap:3px;font-size:.88rem}
.card dl div{display:flex;flex-wrap:wrap;column-gap:12px}
.card dt{color:var(--dim);overflow-wrap:anywhere}
.card dd{margin:0 0 0 auto;font-variant-numeric:tabular-nums;white-space:nowrap}
.findings{padding-left:1.2em;margin:6px 0}.findings>li{margin:5px 0;max-width:100ch}
.findings details{margin:0;font-size:.84rem}.findings summary{padding:0}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,430px),1fr));
gap:22px 30px}
figure{margin:8px 0 0;min-width:0;break-inside:avoid}
figcaption{font-size:.88rem;margin-bottom:4px}
svg.chart{display:block;width:100%;height:auto;max-width:640px}
svg text{fill:var(--fg);font:12.5px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
svg text.tick,svg text.name{fill:var(--dim);font-size:12px}
svg text.value{font-variant-numeric:tabular-nums}
.grid{stroke:var(--edge);stroke-width:1;fill:none}.frame{stroke:var(--dim);fill:none}
.whisker{stroke:var(--fg);stroke-width:1.4;fill:none}
.line{fill:none;stroke-width:2;stroke-linejoin:round}
.s0{--c:var(--c0)}.s1{--c:var(--c1)}.s2{--c:var(--c2)}.s3{--c:var(--c3)}
.s4{--c:var(--c4)}.s5{--c:var(--c5)}.s6{--c:var(--c6)}.s7{--c:var(--c7)}
.line{stroke:var(--c)}.bar{fill:var(--c)}
.line.s1{stroke-dasharray:8 3}.line.s2{stroke-dasharray:4 2.5}.line.s3{stroke-dasharray:9 3 2 3}
.line.s4{stroke-dasharray:5 2}.line.s5{stroke-dasharray:2 2}.line.s6{stroke-dasharray:12 3 2 3 2 3}
.line.s7{stroke-dasharray:14 4}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:2px 16px;margin:4px 0 0;padding:0;
font-size:.85rem}
.legend svg{width:34px;height:10px;margin-right:6px}
.scroll{overflow-x:auto;margin:10px 0;border:1px solid var(--edge);border-radius:8px}
table{border-collapse:collapse;width:100%;font-size:.86rem;font-variant-numeric:tabular-nums}
caption{text-align:left;padding:8px 12px;font-size:.88rem}
th,td{padding:6px 12px;text-align:right;white-space:nowrap;vertical-align:top;
border-top:1px solid var(--edge)}
tr:has(>:nth-child(9))>*{padding:6px 8px;font-size:.82rem}
thead th{border-top:0;font-weight:600;background:var(--soft)}
caption~thead th{border-top:1px solid var(--edge)}
th:first-child,td:first-child,.l{text-align:left!important}
td small{display:block;color:var(--dim);font-size:.78rem}
td small.why{white-space:normal;width:11em;margin-left:auto}
.claim{border-top:1px solid var(--edge);padding:12px 0}
.claim h4{margin:0;font-size:.95rem}.claim p{margin:4px 0}
.verdict{display:inline-block;border:1px solid currentColor;border-radius:99px;padding:0 9px;
font-size:.78rem;font-weight:600;white-space:nowrap}
.reproduced{color:var(--good)}.deviates,.contradicted{color:var(--bad)}.predicted{color:var(--note)}
.not-built,.not-testable,.input{color:var(--dim)}
details{margin:10px 0}summary{cursor:pointer;padding:4px 0}
pre{overflow-x:auto;background:var(--soft);border:1px solid var(--edge);border-radius:8px;
padding:12px;font:12.5px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.9em;
overflow-wrap:anywhere}
footer{padding:40px 20px 48px;color:var(--dim);font-size:.85rem}
@media(max-width:500px){header,main,footer{padding-left:14px;padding-right:14px}
h1{font-size:1.5rem}svg text{font-size:14.5px}svg text.tick,svg text.name{font-size:13.5px}}
@media print{:root{--bg:#fff;--fg:#000;--dim:#444;--edge:#bbb;--soft:#fff}
body{font-size:10.5pt}nav,.skip{display:none}.scroll{overflow:visible;border:0}
h2,h3{break-after:avoid}.card,tr{break-inside:avoid}a{color:inherit}}
"#;

/// The additional style for drawings of request logs.
pub const TRACES: &str = "\
.dots.fine{stroke-width:1.6}.median{stroke:var(--fg);stroke-width:2.4;fill:none}\
.mean{fill:var(--bg);stroke:var(--fg);stroke-width:1.6}\
.dots.s1.fine{stroke-opacity:.8}";

/// The additional style for a page with a document's figures: colours of workloads, widths,
/// markers.
pub const FIGURES: &str = r#"
:root{--w1:#a87000;--w2:#6a51a3;--w3:#0d7d8c;--w4:#b3203c;--w5:#6d757d}
@media(prefers-color-scheme:dark){:root{--w1:#e6b34d;--w2:#b3a0e6;--w3:#4fc3d1;--w4:#ff7d8e;
--w5:#a3acb5}}
.w0{--c:var(--fg)}.w1{--c:var(--w1)}.w2{--c:var(--w2)}.w3{--c:var(--w3)}.w4{--c:var(--w4)}
.w5{--c:var(--w5)}
.line.d1{stroke-dasharray:9 3}.line.d2{stroke-dasharray:4 3}.line.d3{stroke-dasharray:9 3 2 3}
.line.w0{stroke-width:5.5}.line.w1{stroke-width:4.2}.line.w2{stroke-width:3}
.line.w3{stroke-width:2.4}.line.w4{stroke-width:1.7}.line.w5{stroke-width:1.2}
.dots,.knots{fill:none;stroke:var(--c);stroke-width:3.6;stroke-linecap:round}
.knots{stroke-width:6}.thin{fill:none;stroke:var(--c);stroke-width:1;opacity:.45}
.bar.pale{fill-opacity:.38;stroke:var(--c);stroke-width:1.5}
.mark{fill:var(--bg);stroke:var(--c,var(--fg));stroke-width:2;stroke-linejoin:round}
.bar~.mark{stroke:var(--fg)}
.swatch{display:inline-block;width:.8em;height:.8em;border-radius:2px;background:var(--c);
margin-right:.45em;vertical-align:-.06em}
figcaption strong{color:var(--fg)}
.answer{border-left:3px solid var(--edge);padding-left:14px;margin:6px 0 10px}
.told{font-size:.88rem;padding-left:1.2em;margin:4px 0}
.told-title{font-size:.88rem;margin:18px 0 0}.told li{max-width:100ch;margin:3px 0}
#figures h3{margin-top:50px;font-size:1.12rem}#figures .figures{margin-top:14px}
#figures .figures+.figures{margin-top:30px}#figures .legend{padding-left:2px}
#figures .legend li{display:flex;align-items:baseline}
#figures .legend svg{flex:none;align-self:center;max-height:14px}
.absent{font-size:.88rem}
.jump a{margin-right:.7em;white-space:nowrap}@media print{.jump{display:none}}
@media print{#figures .figures{grid-template-columns:1fr 1fr}#figures svg text{font-size:14px}
.swatch,.bar{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
"#;
