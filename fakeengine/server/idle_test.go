package server

import (
	"net/http"
	"runtime"
	"testing"
)

// idleMB is what a replica of an H100 with an 8B model, on a port of its own, holds
// in memory beside the others before its first request.
func idleMB(tb testing.TB, replicas int) float64 {
	before := heap()
	g := start(tb, func(c *Config) {
		c.Replicas = replicas
		c.Engine.MaxNumSeqs, c.Engine.NumGPUBlocks, c.Engine.MaxModelLen = 1024, 28156, 131072
	})
	ports := make([]http.Handler, replicas)
	for i := range ports {
		ports[i] = g.Replica(i)
	}
	after := heap()
	runtime.KeepAlive(g)
	runtime.KeepAlive(ports)
	return float64(after-before) / float64(replicas) / 1e6
}

func BenchmarkIdle(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(idleMB(b, 256), "MB/replica")
	}
}

func TestIdleReplicaTakesLessThanAMegabyte(t *testing.T) {
	if mb := idleMB(t, 16); mb >= 1 || mb <= 0 {
		t.Errorf("%.2f MB a replica", mb)
	}
}

// heap is the bytes in use. What earlier tests left in pools goes with the second
// collection.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
