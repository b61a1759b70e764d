package record_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"goodput/loadgen/record"
)

// A run is created, filled with one row per attempt, closed, and read back.
func Example() {
	tmp, err := os.MkdirTemp("", "record")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	dir := filepath.Join(tmp, "run")

	w, err := record.Create(dir, record.Meta{RunID: "example", Virtual: true})
	if err != nil {
		log.Fatal(err)
	}
	var r record.Request
	for seq := range 3 {
		r.Reset()
		r.Seq, r.Final = int64(seq), true
		r.Intended, r.FirstToken = 0, 25_000_000
		w.Write(&r)
	}
	if err := w.Close(record.Final{Counts: &record.Counts{Scheduled: 3, Completed: 3}}); err != nil {
		log.Fatal(err)
	}

	run, err := record.Open(dir)
	if err != nil {
		log.Fatal(err)
	}
	err = run.Requests(func(r *record.Request) error {
		fmt.Println(r.Seq, r.Outcome, r.TTFT(), r.TPOT() == record.Null)
		return nil
	}, record.Columns("seq", "outcome", "ttft", "tpot"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.Manifest.State, run.Manifest.Outcomes)
	// Output:
	// 0 ok 25000000 true
	// 1 ok 25000000 true
	// 2 ok 25000000 true
	// complete map[ok:3]
}
