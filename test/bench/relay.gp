# Ratios of `make bench-relay`; `out` is the folder with relay.dat.
set terminal svg size 900,480 font "sans,12" background "white"
set output out."/relay.svg"
set style fill solid 0.6
set boxwidth 0.6
set grid ytics
set yrange [0:*]
set ylabel "ratio, ours / peer"
set xtics rotate by -20
unset key
plot out."/relay.dat" using 0:2:xtic(1) with boxes
