// client-go's informer on the nodes of one API server, as its users run it: typed objects, everything kept. Prints one JSON line
// when its cache is full, and one when it has seen -events changes after that: seconds, own CPU, resident memory.
//
//	peer -kubeconfig FILE [-events N]
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

type figures struct {
	What    string  `json:"what"`
	Nodes   int     `json:"nodes"`
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu_seconds"`
	RSSMB   float64 `json:"rss_mb"`
}

func cpu() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(usage.Utime) + seconds(usage.Stime)
}

func rss() float64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	pages, _ := strconv.ParseFloat(strings.Fields(string(text))[1], 64)
	return pages * float64(os.Getpagesize()) / 1e6
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "where the server is")
	events := flag.Int64("events", 0, "changes to wait for after the list")
	jsonOnly := flag.Bool("json", false, "ask for JSON instead of what client-go takes by default")
	flag.Parse()

	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	must(err)
	if *jsonOnly {
		config.ContentType = "application/json"
	}
	client, err := kubernetes.NewForConfig(config)
	must(err)

	var updates atomic.Int64
	enough := make(chan struct{})
	factory := informers.NewSharedInformerFactory(client, 0)
	informer := factory.Core().V1().Nodes().Informer()
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, now any) {
			if _, ok := now.(*corev1.Node); ok && updates.Add(1) == *events {
				close(enough)
			}
		},
	})
	must(err)

	began, before := time.Now(), cpu()
	report := func(what string) {
		must(json.NewEncoder(os.Stdout).Encode(figures{what, len(informer.GetStore().ListKeys()),
			time.Since(began).Seconds(), cpu() - before, rss()}))
	}
	stop := make(chan struct{})
	factory.Start(stop)
	if !cache.WaitForCacheSync(stop, informer.HasSynced) {
		must(fmt.Errorf("the cache did not fill"))
	}
	report("list")
	runtime.GC()
	report("kept")
	if *events > 0 {
		began, before = time.Now(), cpu()
		<-enough
		report("watch")
	}
	close(stop)
}
