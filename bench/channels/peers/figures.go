// The figures of ../figures.lee with goroutines and channels: MODE COUNT [SIZE].
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
)

// Processor time of the program, in nanoseconds.
func now() float64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Nano() + u.Stime.Nano())
}

func resident() float64 {
	b, _ := os.ReadFile("/proc/self/statm")
	var all, here int
	fmt.Sscan(string(b), &all, &here)
	return float64(here * os.Getpagesize())
}

func trip(n int) {
	a, b := make(chan int, 1), make(chan int, 1)
	go func() {
		for x := range a {
			b <- x + 1
		}
	}()
	t := now()
	for i := 0; i < n; i++ {
		a <- i
		<-b
	}
	fmt.Printf("%.2f\n", (now()-t)/float64(n))
}

// copied: each send sends a copy, as processes that share nothing would have to.
func send(n, size int, copied bool) {
	pass := func(b []byte) []byte {
		if copied {
			return append([]byte(nil), b...)
		}
		return b
	}
	there, back := make(chan []byte, 1), make(chan []byte, 1)
	go func() {
		for b := range there {
			b[0]++
			back <- pass(b)
		}
	}()
	b := make([]byte, size)
	t := now()
	for i := 0; i < n; i++ {
		there <- pass(b)
		b = <-back
		b[0]++
	}
	fmt.Printf("%.2f\n", (now()-t)/float64(n)/2)
}

func spawn(n int) {
	ended := make(chan bool, 1)
	t := now()
	for i := 0; i < n; i++ {
		go func() { ended <- true }()
		<-ended
	}
	fmt.Printf("%.2f\n", (now()-t)/float64(n))
}

func switches(n int) {
	go func() {
		for i := 0; i < n; i++ {
			runtime.Gosched()
		}
	}()
	runtime.Gosched()
	t := now()
	for i := 0; i < n; i++ {
		runtime.Gosched()
	}
	fmt.Printf("%.2f\n", (now()-t)/float64(n)/2)
}

func park(n int, bytes bool) {
	here, never := make(chan bool, 64), make(chan bool)
	runtime.GC()
	memory, t := resident(), now()
	for i := 0; i < n; i++ {
		go func() { here <- true; <-never }()
		if i%64 == 63 {
			for k := 0; k < 64; k++ {
				<-here
			}
		}
	}
	if bytes {
		fmt.Printf("%.0f\n", (resident()-memory)/float64(n))
	} else {
		fmt.Printf("%.2f\n", (now()-t)/float64(n))
	}
}

func main() {
	n, _ := strconv.Atoi(os.Args[2])
	size := 0
	if len(os.Args) > 3 {
		size, _ = strconv.Atoi(os.Args[3])
	}
	switch os.Args[1] {
	case "trip":
		trip(n)
	case "send":
		send(n, size, false)
	case "copy":
		send(n, size, true)
	case "spawn":
		spawn(n)
	case "switch":
		switches(n)
	case "park":
		park(n, false)
	case "memory":
		park(n, true)
	default:
		os.Exit(2)
	}
}
