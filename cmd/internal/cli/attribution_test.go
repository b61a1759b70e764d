package cli

import (
	"bytes"
	"path/filepath"
	"testing"

	"goodput/loadgen/record"
)

// runOf runs a load on the pool in virtual time and returns what it recorded.
func runOf(t *testing.T, args ...string) ([]record.Request, record.Manifest) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	var out, log bytes.Buffer
	env := Env{
		Args: append([]string{"run", "--out", dir}, args...), Stdout: &out, Stderr: &log,
		Getenv: func(string) string { return "" },
	}
	if code := Main(env); code != exitOK {
		t.Fatalf("exit code %d: %s", code, log.String())
	}
	run, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var rows []record.Request
	if err := run.Requests(func(r *record.Request) error {
		rows = append(rows, *r)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return rows, run.Manifest
}

// known is v, or 0 for a part that does not exist.
func known(v int64) int64 {
	if v == record.Null {
		return 0
	}
	return v
}

// Every row of a run under KV pressure, in which some requests are given up, says
// where its time went, to the nanosecond.
func TestRowsAddUp(t *testing.T) {
	rows, _ := runOf(t, "--request-rate", "60", "--num-prompts", "400", "--replicas", "2", "--dataset-name", "random",
		"--random-input-len", "256", "--random-output-len", "256", "--engine.num-gpu-blocks", "160",
		"--request-timeout", "20s", "--max-error-rate", "1")
	preemptions, interfered, cut := 0, 0, 0
	for i := range rows {
		r := &rows[i]
		spent := r.ServerSpentFrontEnd + r.ServerSpentQueue + r.ServerSpentPrefill + r.ServerSpentDecode +
			r.ServerSpentInterference + r.ServerSpentTransfer + r.ServerPreempted
		whole := r.ServerE2E
		if r.Outcome != record.OK {
			cut++
			whole = int64(r.Closed - r.Dispatched)
		}
		if spent != whole {
			t.Fatalf("request %d (%v): the parts sum to %d ns, the whole is %d: %+v", r.Seq, r.Outcome, spent, whole, r)
		}
		if r.ServerPreemptions > 0 {
			preemptions++
			if r.ServerPreempted == 0 {
				t.Errorf("request %d was preempted for no time", r.Seq)
			}
		}
		if r.ServerSpentInterference > 0 {
			interfered++
		}
		// In virtual time nothing lies between the sides but what is written here.
		ttft := known(r.Lag()) + known(r.ClientQueue()) + known(r.Connect()) + known(r.Upload()) +
			known(r.DTTFT) + known(r.ServerFrontEnd()) + known(r.ServerQueue) + known(r.ServerPrefill)
		if r.FirstToken.Known() && ttft != r.TTFT() {
			t.Errorf("request %d: the parts of ttft sum to %d ns, ttft is %d", r.Seq, ttft, r.TTFT())
		}
	}
	if len(rows) != 400 || preemptions == 0 || interfered == 0 || cut == 0 || cut == len(rows) {
		t.Errorf("%d rows, of which %d preempted, %d interfered with and %d cut off: the test shows nothing",
			len(rows), preemptions, interfered, cut)
	}
}

// A KV cache whose size is derived and too small is recorded as such.
func TestKVInManifest(t *testing.T) {
	load := []string{
		"--request-rate", "inf", "--num-prompts", "60", "--replicas", "1", "--dataset-name", "random",
		"--random-input-len", "1024", "--random-output-len", "300", "--gpu", "h100-sxm", "--engine.gpu-memory-utilization",
	}
	_, m := runOf(t, append(load, "0.25")...)
	if m.Target[record.TargetKVFrom] != record.KVDerived || m.Counters[record.CounterKVWaits] == 0 || m.Counters[record.CounterPreemptions] == 0 {
		t.Errorf("too small: target %v, counters %v", m.Target, m.Counters)
	}
	_, m = runOf(t, append(load, "0.9", "--engine.num-gpu-blocks", "9000")...)
	if m.Target[record.TargetKVFrom] != record.KVGiven || m.Target[record.TargetKVBlocks] != "9000" ||
		m.Counters[record.CounterKVWaits]+m.Counters[record.CounterPreemptions] != 0 {
		t.Errorf("large enough: target %v, counters %v", m.Target, m.Counters)
	}
}
