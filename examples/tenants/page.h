// The page, which asks for /status twice a second. Its second tab does the same to the tenants as
// plain C (plain/): these are at the next port. A port behind the page's `#` is theirs, and begins there.
#ifndef TENANTS_PAGE_H
#define TENANTS_PAGE_H

#define PAGE                                                                                                          \
    "<!doctype html><meta charset=utf-8><title>Tenants</title>"                                                       \
    "<style>body{font:14px sans-serif;margin:1.5em;max-width:75em}#all{display:grid;"                                 \
    "grid-template-columns:repeat(25,1fr);gap:3px}#all div{padding:.4em 0;text-align:center;background:#dfe9df;"      \
    "font-size:10px;cursor:pointer}#all .down{background:#d33;color:#fff}#all .was{background:#f0c060}"               \
    "#all .on{outline:2px solid #000}button{margin:.6em .4em .6em 0}#tabs .on{font-weight:bold}"                      \
    "td,th{padding:.15em .8em;text-align:right}td:last-child,th:last-child{text-align:left}pre{white-space:pre-wrap}" \
    "</style>"                                                                                                        \
    "<h1>200 tenants</h1><p id=tabs></p><p id=what></p>"                                                              \
    "<div id=all></div><p id=buttons></p><pre id=out></pre><p id=sum></p><table id=table></table>"                    \
    "<script>"                                                                                                        \
    "let $=i=>document.getElementById(i),chosen=2,kinds=['json','image','calc'],tab=+!!location.hash;"                \
    "let port=location.hash.slice(1)||+location.port+1,bases=['','http://'+location.hostname+':'+port];"              \
    "let start='examples/tenants/plain/build /tmp/plain && /tmp/plain '+port;"                                        \
    "let names=['processes in Leeward','threads in plain C'],whats=['Each is a process in a custodian of its own. "   \
    "Red ones wait to be started again, yellow ones have failed before. "                                             \
    "A button sends a request to one tenant; what it does is in the request\\'s data.',"                              \
    "'The same handler files as plain C, in threads of one program, and the same requests. It is started by: '+"      \
    "start];"                                                                                                         \
    "names.forEach((name,i)=>{let b=document.createElement('button');b.textContent=name;b.onclick=()=>{tab=i;"        \
    "$('out').textContent='';mark();look()};$('tabs').append(b)});"                                                   \
    "function mark(){$('what').textContent=whats[tab];[...$('tabs').children].forEach((b,i)=>"                        \
    "b.className=i==tab?'on':'')}mark();"                                                                             \
    "let hostile={leak:[2,'while 1 { keep 10 }'],spin:[1,'8 8 P2 4 4 9 '+'7 '.repeat(16)],"                           \
    "overrun:[0,'{\"'+'a'.repeat(5000)+'\":1}'],recurse:[0,'['.repeat(500000)],wedge:[2,'print ask 99'],"             \
    "flood:[2,'while 1 { emit 1 }'],'fork-bomb':[2,'while 1 { fork }'],"                                              \
    "'a good request':[2,'n = 5 p = 1 while n > 0 { p = p * n n = n - 1 } print p + ask 3']};"                        \
    "for(let name in hostile){let b=document.createElement('button');b.textContent=name;b.onclick=()=>press(name);"   \
    "$('buttons').append(b)}"                                                                                         \
    "async function press(name){let[kind,body]=hostile[name],t=chosen-chosen%3+kind;if(t>199)t-=3;chosen=t;"          \
    "$('out').textContent='t'+t+' gets: '+body.slice(0,60)+' ...';"                                                   \
    "try{let r=await fetch(bases[tab]+'/t'+t,{method:'POST',body});"                                                  \
    "$('out').textContent+='\\n'+r.status+' '+(await r.text()).slice(0,300)}catch(e){$('out').textContent+='\\nno "   \
    "answer'}}"                                                                                                       \
    "function draw(rows){let all=$('all').children;if(!all.length)for(let i=0;i<200;i++){"                            \
    "let d=document.createElement('div');d.textContent=i;d.onclick=()=>chosen=i;$('all').append(d)}"                  \
    "for(let i=0;i<200;i++){let r=rows[i];all[i].className=(!r||!r[1]?'down':r[4]?'was':'')+(i==chosen?' on':'')}"    \
    "let sum=k=>rows.reduce((a,r)=>a+r[k],0);$('sum').textContent=sum(2)+' requests, '+sum(3)+' failures, '+"         \
    "(sum(5)/1048576).toFixed(1)+' MB';"                                                                              \
    "let top=rows.map((r,i)=>[i,...r]).sort((a,b)=>(b[0]==chosen)-(a[0]==chosen)||b[5]-a[5]||b[3]-a[3]).slice(0,12);" \
    "$('table').innerHTML='<tr><th>tenant<th>handler<th>requests<th>restarts<th>KB<th>ms of time<th>p50 us<th>p99 us" \
    "<th>why it failed last'+top.map(r=>'<tr><td>t'+[r[0],kinds[r[1]],r[3],r[5],r[6]/1024|0,r[7]/1e6|0,r[8],r[9]]"    \
    ".join('<td>')+'<td>'+r[10].replace(/</g,'&lt;')).join('')}"                                                      \
    "async function look(){let at=tab;try{let s=await(await fetch(bases[at]+'/status')).json();"                      \
    "if(at==tab)draw(s.tenants)}"                                                                                     \
    "catch(e){if(at==tab){draw([]);$('sum').textContent='No answer: '+(at?'nothing runs there':'the program has "     \
    "ended')+"                                                                                                        \
    "', and none of the 200 tenants answers.'}}}"                                                                     \
    "setInterval(look,500);look()"                                                                                    \
    "</script>\n"

#endif
