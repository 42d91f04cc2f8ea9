"""Every operation and every part of a word, with the place of each."""

from __future__ import annotations

import pytest
from shell_bodies_notation import read, shown

WORDS = [
    ('cmd a \'b c\' "d e" ""', 'call 1:1-1:21 [cmd 1:1] [a 1:5] [b c 1:8 1:7-1:12] [d e 1:14 1:13-1:18] [ 1:19-1:21]'),
    ('"a"\'b\'c\\ d e\\\nf', 'call 1:1-2:2 [a 1:2, b 1:5, c 1:7,  d 1:9 1:1-1:11] [e 1:12] [f 2:1]'),
    ('$\'a\\tb\' $"c"', 'call 1:1-1:13 [a 1:3, \\t 1:4, b 1:6 1:1-1:8] [c 1:11 1:10-1:13]'),
    ('$A ${B} "$C" "x${D}y" $1 ${10} $@ "$*" $# $? $$ $0', 'call 1:1-1:51 [$A 1:1 1:1-1:3] [$B 1:4 1:4-1:8] ["$C" 1:10 1:9-1:13] [x 1:15, "$D" 1:16, y 1:20 1:14-1:22] [$1 1:23 1:23-1:25] [$10 1:26 1:26-1:31] [$@ 1:32 1:32-1:34] ["$*" 1:36 1:35-1:39] [$# 1:40 1:40-1:42] [$? 1:43 1:43-1:45] [$$ 1:46 1:46-1:48] [$0 1:49 1:49-1:51]'),
    ('${A:-b} ${A-$B} ${A:=c} ${A:+d} ${A:?e} ${A#*/} ${A##*/} ${A%.*} ${A%%.*}', 'call 1:1-1:74 [$A:-[b 1:6] 1:1 1:1-1:8] [$A-[$B 1:13 1:13-1:15] 1:9 1:9-1:16] [$A:=[c 1:22] 1:17 1:17-1:24] [$A:+[d 1:30] 1:25 1:25-1:32] [$A:?[e 1:38] 1:33 1:33-1:40] [$A#[*/ 1:45] 1:41 1:41-1:48] [$A##[*/ 1:54] 1:49 1:49-1:57] [$A%[.* 1:62] 1:58 1:58-1:65] [$A%%[.* 1:71] 1:66 1:66-1:74]'),
    ('"${A:-x "y"}" ${!A} ${#A} ${#A[@]} ${A[@]} ${A[1]} ${A//b/c} ${A:1:2} ${A^^} ${!A@} ${!A[@]}', 'call 1:1-1:93 ["$A:-[x  1:7, y 1:10 1:7-1:12]" 1:2 1:1-1:14] [$A! 1:15 1:15-1:20] [$A#len 1:21 1:21-1:26] [$A<@>#len 1:27 1:27-1:35] [$A<@> 1:36 1:36-1:43] [$A<1> 1:44 1:44-1:51] [$Aother 1:52 1:52-1:61] [$Aother 1:62 1:62-1:70] [$Aother 1:71 1:71-1:77] [$Aother 1:78 1:78-1:84] [$A<@>other 1:85 1:85-1:93]'),
    ('a=$(b "$(c)") `d`', 'call 1:1-1:18 assign 1:1 a=[$(call 1:5-1:13 [b 1:5] ["$(call 1:10-1:11 [c 1:10])" 1:8 1:7-1:13]) 1:3 1:3-1:14] [$(call 1:16-1:17 [d 1:16]) 1:15 1:15-1:18]'),
    ('x $((1 + 2)) "$((A))" <(b) >(c)', 'call 1:1-1:32 [x 1:1] [?$((1 + 2)) 1:3 1:3-1:13] [?$((A)) 1:15 1:14-1:22] [?<(b) 1:23 1:23-1:27] [?>(c) 1:28 1:28-1:32]'),
    ("a 'b\nc'd", 'call 1:1-2:4 [a 1:1] [b\\n 1:4, c 2:1, d 2:3 1:3-2:4]'),
    ('a b\\\n  c \\\n  --d=e', 'call 1:1-3:8 [a 1:1] [b 1:3] [c 2:3] [--d=e 3:3]'),
    ("A=<Path to x>\ntorchrun --a={{ b }} <your file> '{{ c }}'", 'assign 1:1 A=[?<Path to x> 1:3 1:3-1:14]; call 2:1-2:43 [torchrun 2:1] [--a= 2:10, ?{{ b }} 2:14 2:10-2:21] [?<your file> 2:22 2:22-2:33] [?{{ c }} 2:35 2:34-2:43]'),
    ('run --a=x,$B,${C}d "${_value_from_python_}" \'${_value_from_python_}\'', 'call 1:1-1:69 [run 1:1] [--a=x, 1:5, $B 1:11, , 1:13, $C 1:14, d 1:18 1:5-1:19] [?{...} 1:21 1:20-1:44] [?{...} 1:46 1:45-1:69]'),
    ('a é $B # c\nf', 'call 1:1-1:7 [a 1:1] [é 1:3] [$B 1:5 1:5-1:7]; call 2:1-2:2 [f 2:1]'),
    ('a b=c$ d<e f\\$g h"\\n\\$"', "call 1:1-1:9 [a 1:1] ['b=c$' 1:3] [d 1:8] [f 1:12, '$g' 1:14 1:12-1:16] [h 1:17, \\n 1:19, '$' 1:22 1:17-1:24] <[e 1:10]"),
    ('A=$(a $(b `c`))', 'assign 1:1 A=[$(call 1:5-1:15 [a 1:5] [$(call 1:9-1:14 [b 1:9] [$(call 1:12-1:13 [c 1:12]) 1:11 1:11-1:14]) 1:7 1:7-1:15]) 1:3 1:3-1:16]'),
    ('a "$(cat <<EOF\n$x\nEOF\n)"', 'call 1:1-4:3 [a 1:1] ["$(call 1:6-1:9 [cat 1:6] <<["$x" 2:1, \\n 2:3 2:1-3:1])" 1:4 1:3-4:3]'),
    ('a {b,c} *.py ~/d [e]? --f=g:h', 'call 1:1-1:30 [a 1:1] [{b,c} 1:3] [*.py 1:9] [~/d 1:14] [[e]? 1:18] [--f=g:h 1:23]'),
]  # fmt: skip


ASSIGNMENTS = [
    ('A=1', 'assign 1:1 A=[1 1:3]'),
    ('A= B=x$C', 'assign 1:1 A=[ 1:3-1:3]; assign 1:4 B=[x 1:6, $C 1:7 1:6-1:9]'),
    ('A+=1', 'assign 1:1 A+=[1 1:4]'),
    ('A[1]=x', 'assign 1:1 A<1>=[x 1:6]'),
    ('A["${B[$k]}"]=1', 'assign 1:1 A<"${B[$k]}">=[1 1:15]'),
    ('A=(x "y z" $w # c\n v)', 'assign 1:1 A=([x 1:4] [y z 1:7 1:6-1:11] [$w 1:12 1:12-1:14] [v 2:2])'),
    ('A+=(x)', 'assign 1:1 A+=([x 1:5])'),
    ('declare -A A=([b]=c [d]=e)', 'declare 1:1 declare -A assign 1:12 A=([[b]=c 1:15] [[d]=e 1:21])'),
    ('export A=1 B "$k=$v"', 'declare 1:1 export assign 1:8 A=[1 1:10] [B 1:12] ["$k" 1:15, = 1:17, "$v" 1:18 1:14-1:21]'),
    ('export -n A', 'declare 1:1 export -n [A 1:11]'),
    ('declare -gx +i A=1', 'declare 1:1 declare -gx+i assign 1:16 A=[1 1:18]'),
    ('local x=1 y', 'declare 1:1 local assign 1:7 x=[1 1:9] [y 1:11]'),
    ('readonly A', 'declare 1:1 readonly [A 1:10]'),
    ("typeset -x A='b c'", 'declare 1:1 typeset -x assign 1:12 A=[b c 1:15 1:14-1:19]'),
    ('export -- A', 'declare 1:1 export [A 1:11]'),
    ('export $(grep -v x .env | xargs)', 'declare 1:1 export [$(pipe 1:10 {call 1:10-1:24 [grep 1:10] [-v 1:15] [x 1:18] [.env 1:20]} {call 1:27-1:32 [xargs 1:27]}) 1:8 1:8-1:33]'),
    ('A=1 B=2 cmd c', 'call 1:1-1:14 assign 1:1 A=[1 1:3] assign 1:5 B=[2 1:7] [cmd 1:9] [c 1:13]'),
    ('unset A B', 'unset 1:1 [A 1:7] [B 1:9]'),
    ('unset -f g', 'unset 1:1 -f [g 1:10]'),
    ('A=1 > f', 'redirected 1:1 >[f 1:7] {assign 1:1 A=[1 1:3]}'),
    ('export A=1 > f', 'redirected 1:1 >[f 1:14] {declare 1:1 export assign 1:8 A=[1 1:10]}'),
    ('export {{ N }}=1', 'declare 1:1 export [?{{ N }} 1:8, =1 1:15 1:8-1:17]'),
    ('{{ N }}=1', 'gap 1:1 <{{ N }}=1>'),
]  # fmt: skip


REDIRECTS = [
    ('a > b 2>&1', 'call 1:1-1:2 [a 1:1] >[b 1:5] 2>&[1 1:10]'),
    ('a >> b < c &> d', 'call 1:1-1:2 [a 1:1] >>[b 1:6] <[c 1:10] &>[d 1:15]'),
    ('> a', 'call 1:1-1:4 >[a 1:3]'),
    ('a <<< "b $c"', 'call 1:1-1:13 [a 1:1] <<<[b  1:8, "$c" 1:10 1:7-1:13]'),
    ('a > b <<< c', 'call 1:1-1:2 [a 1:1] >[b 1:5] <<<[c 1:11]'),
    ('A=1 b > c', 'call 1:1-1:6 assign 1:1 A=[1 1:3] [b 1:5] >[c 1:9]'),
    ('cat <<EOF > f\na $X \\$Y\n  $(b) "c" \'d\'\nEOF\ne', 'call 1:1-1:4 [cat 1:1] <<[a  2:1, "$X" 2:3,   2:5, \'$Y\\n\' 2:7,    3:1, "$(call 3:5-3:6 [b 3:5])" 3:3,  "c" \'d\'\\n 3:7 2:1-4:1] >[f 1:13]; call 5:1-5:2 [e 5:1]'),
    ("cat <<'EOF' | bash -s\na $X\nb\nEOF", "pipe 1:1 {call 1:1-1:4 [cat 1:1] <<['a $X\\n' 2:1, b\\n 3:1 2:1-4:1]} {call 1:15-1:22 [bash 1:15] [-s 1:20]}"),
    ('cat <<-EOF\n\ta\n\t\t$B\n\tEOF\n', 'call 1:1-1:4 [cat 1:1] <<[a\\n 2:2, "$B" 3:3, \\n 3:5 2:1-4:1]'),
    ('cat <<EOF && b || c\nEOF', 'and 1:14 {call 1:1-1:4 [cat 1:1] <<[ 2:1-2:1]} {or 1:16 {call 1:14-1:15 [b 1:14]} {call 1:19-1:20 [c 1:19]}}'),
    ('{ a; } > b', 'redirected 1:1 >[b 1:10] {group 1:1 {call 1:3-1:4 [a 1:3]}}'),
    ('( a ) 2> b', 'redirected 1:1 2>[b 1:10] {subshell 1:1 {call 1:3-1:4 [a 1:3]}}'),
    ('a && b > c', 'and 1:3 {call 1:1-1:2 [a 1:1]} {call 1:6-1:7 [b 1:6] >[c 1:10]}'),
    ('a | b > c', 'pipe 1:1 {call 1:1-1:2 [a 1:1]} {call 1:5-1:6 [b 1:5] >[c 1:9]}'),
    ('! a > b', 'not 1:1 {call 1:3-1:4 [a 1:3] >[b 1:7]}'),
    ('while read x; do a; done < f', 'redirected 1:1 <[f 1:28] {while 1:1 {call 1:7-1:13 [read 1:7] [x 1:12]} do {call 1:18-1:19 [a 1:18]}}'),
    ('if a; then b; fi >> c', 'redirected 1:1 >>[c 1:21] {if 1:1 {call 1:4-1:5 [a 1:4]} then {call 1:12-1:13 [b 1:12]}}'),
    ('exec > >(tee x) 2>&1', 'call 1:1-1:5 [exec 1:1] >[?>(tee x) 1:8 1:8-1:16] 2>&[1 1:20]'),
    ('[ -f a ] 2> b', 'redirected 1:1 2>[b 1:13] {test 1:1 <-f a> [-f 1:3] [a 1:6]}'),
    ('a && cat <<EOF | b\nx\nEOF', 'and 1:3 {call 1:1-1:2 [a 1:1]} {pipe 1:6 {call 1:6-1:9 [cat 1:6] <<[x\\n 2:1 2:1-3:1]} {call 1:18-1:19 [b 1:18]}}'),
    ('A=1 B=2 > f', 'redirected 1:1 >[f 1:11] {assign 1:1 A=[1 1:3]; assign 1:5 B=[2 1:7]}'),
    ('cat <<EOF a b\nx\nEOF', 'call 1:1-1:4 [cat 1:1] [a 1:11] [b 1:13] <<[x\\n 2:1 2:1-3:1]'),
    ('a <<EOF >> c\n$(< x)\nEOF\n', 'call 1:1-1:2 [a 1:1] <<["$(call 2:3-2:6 <[x 2:5])" 2:1, \\n 2:7 2:1-3:1] >>[c 1:12]'),
    ('test a 2> b', 'redirected 1:1 2>[b 1:11] {test 1:1 <a> [a 1:6]}'),
    ('x=$(< f)', 'assign 1:1 x=[$(call 1:5-1:8 <[f 1:7]) 1:3 1:3-1:9]'),
    ("cat <<'EOF'\n$a {{ b }}\nEOF", "call 1:1-1:4 [cat 1:1] <<['$a ' 2:1, ?{{ b }} 2:4, \\n 2:11 2:1-3:1]"),
]  # fmt: skip


COMPOUNDS = [
    ('a && b || c', 'or 1:8 {and 1:3 {call 1:1-1:2 [a 1:1]} {call 1:6-1:7 [b 1:6]}} {call 1:11-1:12 [c 1:11]}'),
    ('a && b && c', 'and 1:8 {and 1:3 {call 1:1-1:2 [a 1:1]} {call 1:6-1:7 [b 1:6]}} {call 1:11-1:12 [c 1:11]}'),
    ('! a', 'not 1:1 {call 1:3-1:4 [a 1:3]}'),
    ('! a | b', 'not 1:1 {pipe 1:1 {call 1:3-1:4 [a 1:3]} {call 1:7-1:8 [b 1:7]}}'),
    ('a | b |& c', 'pipe 1:1 {call 1:1-1:2 [a 1:1]} {call 1:5-1:6 [b 1:5]} {call 1:10-1:11 [c 1:10]}'),
    ('a &', 'background 1:1 {call 1:1-1:2 [a 1:1]}'),
    ('( a ) & b', 'background 1:1 {subshell 1:1 {call 1:3-1:4 [a 1:3]}}; call 1:9-1:10 [b 1:9]'),
    ('{ a; b; }', 'group 1:1 {call 1:3-1:4 [a 1:3]; call 1:6-1:7 [b 1:6]}'),
    ('a && b &', 'background 1:1 {and 1:3 {call 1:1-1:2 [a 1:1]} {call 1:6-1:7 [b 1:6]}}'),
    ('(a; b)', 'subshell 1:1 {call 1:2-1:3 [a 1:2]; call 1:5-1:6 [b 1:5]}'),
    ('if a; then b; elif c; then d; elif e; then f; else g; fi', 'if 1:1 {call 1:4-1:5 [a 1:4]} then {call 1:12-1:13 [b 1:12]} {call 1:20-1:21 [c 1:20]} then {call 1:28-1:29 [d 1:28]} {call 1:36-1:37 [e 1:36]} then {call 1:44-1:45 [f 1:44]} else {call 1:52-1:53 [g 1:52]}'),
    ('if a; then b; fi', 'if 1:1 {call 1:4-1:5 [a 1:4]} then {call 1:12-1:13 [b 1:12]}'),
    ('[ -z "$A" ] && b', 'and 1:13 {test 1:1 <-z "$A"> [-z 1:3] ["$A" 1:7 1:6-1:10]} {call 1:16-1:17 [b 1:16]}'),
    ('[[ -n $A && $B == "x y" ]]', 'test 1:1 <-n $A && $B == "x y"> [-n 1:4] [$A 1:7 1:7-1:9] [&& 1:10] [$B 1:13 1:13-1:15] [== 1:16] [x y 1:20 1:19-1:24]'),
    ('test -z a', 'test 1:1 <-z a> [-z 1:6] [a 1:9]'),
    ('[ a', 'gap 1:1 <[ a>'),
    ('[ "a\\"b$(c "d")" = `e f` ] || [ "${g:-h i}"j ]', 'or 1:28 {test 1:1 <"a\\"b$(c "d")" = `e f`> [a 1:4, "b 1:6, "$(call 1:10-1:15 [c 1:10] [d 1:13 1:12-1:15])" 1:8 1:3-1:17] [= 1:18] [$(call 1:21-1:24 [e 1:21] [f 1:23]) 1:20 1:20-1:25]} {test 1:31 <"${g:-h i}"j> ["$g:-[h i 1:39]" 1:34, j 1:44 1:33-1:45]}'),
    ('[[ $a =~ ^(b|c)$ ]]', "test 1:1 <$a =~ ^(b|c)$> [$a 1:4 1:4-1:6] [=~ 1:7] ['^(b|c)$' 1:10]"),
    ('[[ ! -f a || -n "$b" ]]', 'test 1:1 <! -f a || -n "$b"> [! 1:4] [-f 1:6] [a 1:9] [|| 1:11] [-n 1:14] ["$b" 1:18 1:17-1:21]'),
    ('if ! a; then b; fi', 'if 1:1 {not 1:4 {call 1:6-1:7 [a 1:6]}} then {call 1:14-1:15 [b 1:14]}'),
    ('if a\nthen b; fi &', 'background 1:1 {if 1:1 {call 1:4-1:5 [a 1:4]} then {call 2:6-2:7 [b 2:6]}}'),
    ('while :; do a & done', 'while 1:1 {call 1:7-1:8 [: 1:7]} do {background 1:13 {call 1:13-1:14 [a 1:13]}}'),
    ('for x in $(a b) `c`; do d; done', 'for 1:1 x in [$(call 1:12-1:15 [a 1:12] [b 1:14]) 1:10 1:10-1:16] [$(call 1:18-1:19 [c 1:18]) 1:17 1:17-1:20] {call 1:25-1:26 [d 1:25]}'),
    ('((a > 1))', 'test 1:1 <a > 1>'),
    ('while a; do b; done', 'while 1:1 {call 1:7-1:8 [a 1:7]} do {call 1:13-1:14 [b 1:13]}'),
    ('until a; do b; done', 'while 1:1 until {call 1:7-1:8 [a 1:7]} do {call 1:13-1:14 [b 1:13]}'),
    ('for x in a "$b" c{1,2}; do d; done', 'for 1:1 x in [a 1:10] ["$b" 1:13 1:12-1:16] [c{1,2} 1:17] {call 1:28-1:29 [d 1:28]}'),
    ('for x; do a; done', 'for 1:1 x in arguments {call 1:11-1:12 [a 1:11]}'),
    ('for ((i=0; i<3; i++)); do a; done', 'for 1:1  in [?for ((i=0; i<3; i++)); 1:1 1:1-1:1] {call 1:27-1:28 [a 1:27]}'),
    ('select x in a b; do c; done', 'for 1:1 x in [?select x in a b; 1:1 1:1-1:1] {call 1:21-1:22 [c 1:21]}'),
    ('case $A in a|"b c") d;; (*) e; esac', 'case 1:1 [$A 1:6 1:6-1:8] a|"b c") {call 1:21-1:22 [d 1:21]} *) {call 1:29-1:30 [e 1:29]}'),
    ('f() { a; }', 'function 1:1 f {call 1:7-1:8 [a 1:7]}'),
    ('function f { a; }', 'function 1:1 f {call 1:14-1:15 [a 1:14]}'),
    ('function f() ( a )', 'function 1:1 f {subshell 1:14 {call 1:16-1:17 [a 1:16]}}'),
    ('f() { a; } > b', 'function 1:1 f {redirected 1:12 >[b 1:14] {call 1:7-1:8 [a 1:7]}}'),
    ('coproc a b', 'background 1:8 {call 1:8-1:11 [a 1:8] [b 1:10]}'),
    ('coproc A { b; }', 'background 1:10 {group 1:10 {call 1:12-1:13 [b 1:12]}}'),
    ('time a', 'call 1:6-1:7 [a 1:6]'),
    ('time -p { a; }', 'group 1:9 {call 1:11-1:12 [a 1:11]}'),
    ('a; time b | time c', 'call 1:1-1:2 [a 1:1]; pipe 1:9 {call 1:9-1:10 [b 1:9]} {call 1:18-1:19 [c 1:18]}'),
]  # fmt: skip


LOST = [
    ('if [ a ]; then\n  export A=1\nsrun b', 'gap 1:1 <if>; test 1:4 <a> [a 1:6]; gap 1:9 <; then>; declare 2:3 export assign 2:10 A=[1 2:12]; call 3:1-3:7 [srun 3:1] [b 3:6]'),
    ('a\nb )\nc', 'call 1:1-1:2 [a 1:1]; call 2:1-2:2 [b 2:1]; gap 2:3 <)>; call 3:1-3:2 [c 3:1]'),
    ('case a in\nb\nexport C=1', 'gap 1:1 <case a in>; call 2:1-2:2 [b 2:1]; declare 3:1 export assign 3:8 C=[1 3:10]'),
    ('f() {\na', 'call 1:1-1:2 [f 1:1]; gap 1:2 <() {>; call 2:1-2:2 [a 2:1]'),
    ('a "b\nc d', 'call 1:1-1:2 [a 1:1]; gap 1:3 <"b>; call 2:1-2:4 [c 2:1] [d 2:3]'),
    ('{% if x %}\nA=1\n{% else %}\nA=2\nb\n{% endif %}\nc', 'if 2:1 {test 2:1 <{% if x %}>} then {assign 2:1 A=[1 2:3]} else {assign 4:1 A=[2 4:3]; call 5:1-5:2 [b 5:1]}; call 7:1-7:2 [c 7:1]'),
    ('{% if x %}\n{% if y %}\nA=1\n{% endif %}\n{% elif z %}\nB=2\n{% endif %}', 'if 3:1 {test 3:1 <{% if x %}>} then {if 3:1 {test 3:1 <{% if y %}>} then {assign 3:1 A=[1 3:3]}} {test 6:1 <{% elif z %}>} then {assign 6:1 B=[2 6:3]}'),
    ('#!/bin/bash\n#SBATCH --export=ALL,A=1 -N 2 # x\n#SBATCH --job-name=\'a b\'\n#PBS -v "B=2"\na\n#SBATCH -x', 'directive 2:1 SBATCH [--export=ALL,A=1 2:9] [-N 2:26] [2 2:29]; directive 3:1 SBATCH [--job-name= 3:9, a b 3:21 3:9-3:25]; directive 4:1 PBS [-v 4:6] [B=2 4:10 4:9-4:14]; call 5:1-5:2 [a 5:1]'),
    ('${a', 'gap 1:1 <${a>'),
    ('$(a', 'call 1:1-1:4 [$() 1:1 1:1-1:4]'),
    ('`', 'gap 1:1 <`>'),
    ('', ''),
    (' \n', ''),
    ('a <<EOF', 'call 1:1-1:2 [a 1:1]; gap 1:3 <<>; call 1:4-1:8 <[EOF 1:5]'),
    ('a ||', 'or 1:3 {call 1:1-1:2 [a 1:1]} {}'),
    ('fi', 'gap 1:1 <fi>'),
    ('a & b', 'background 1:1 {call 1:1-1:2 [a 1:1]}; call 1:5-1:6 [b 1:5]'),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), WORDS)
def test_words_and_their_parts(text: str, expected: str) -> None:
    assert shown(read(text)) == expected


@pytest.mark.parametrize(("text", "expected"), ASSIGNMENTS)
def test_assignments_and_declarations(text: str, expected: str) -> None:
    assert shown(read(text)) == expected


@pytest.mark.parametrize(("text", "expected"), REDIRECTS)
def test_redirections_and_here_documents(text: str, expected: str) -> None:
    assert shown(read(text)) == expected


@pytest.mark.parametrize(("text", "expected"), COMPOUNDS)
def test_chains_conditions_loops_and_functions(text: str, expected: str) -> None:
    assert shown(read(text)) == expected


@pytest.mark.parametrize(("text", "expected"), LOST)
def test_what_cannot_be_read_and_what_stands_in_the_head(text: str, expected: str) -> None:
    assert shown(read(text)) == expected
