# SPDX-License-Identifier: BSD-2-Clause
# Latency and bandwidth of pingpong; `out` is the folder with pingpong.dat.
set terminal svg size 900,460 font "sans,12" background "white"
set output out."/pingpong.svg"
set datafile missing "-"
set multiplot layout 1,2 title "Measured: pingpong within a cluster, and across two relays and the WAN"
set logscale x 2
set logscale y
set grid
set key below
set format x "2^{%L}"
set xlabel "message, bytes"
set ylabel "half round trip, us"
plot out."/pingpong.dat" using 1:2 with linespoints title "within the cluster", \
     out."/pingpong.dat" using 1:3 with linespoints title "across"
set ylabel "bandwidth, MB/s"
plot out."/pingpong.dat" using 1:4 with linespoints title "within the cluster", \
     out."/pingpong.dat" using 1:5 with linespoints title "across"
unset multiplot
