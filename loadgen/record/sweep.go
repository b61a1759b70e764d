package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/parquet-go/parquet-go"
)

// The files of a sweep within its run directory.
const (
	TrialsName = "trials.parquet"
	KneesName  = "knees.parquet"
)

// Trial is one trial of a sweep: one row of trials.parquet. Times are nanoseconds, nil
// where there is none. Without an objective, where SLO is nil, Good counts the successes
// and Bad the rest, Verdict is none or invalid, and Goodput is nil.
type Trial struct {
	Arm     string  `parquet:"arm,dict"`
	SLO     *string `parquet:"slo,optional,dict"`
	Seed    int64   `parquet:"seed"`
	Rate    float64 `parquet:"rate"`
	N       int32   `parquet:"n"`
	Warmup  int32   `parquet:"warmup"`
	Good    int32   `parquet:"good"`
	Bad     int32   `parquet:"bad"`
	Verdict string  `parquet:"verdict,dict"`
	Stop    string  `parquet:"stop,dict"`
	Drift   bool    `parquet:"drift"`
	Invalid *string `parquet:"invalid,optional"`
	Verify  bool    `parquet:"verify"`

	TTFTP50 *int64 `parquet:"ttft_p50,optional"`
	TTFTP95 *int64 `parquet:"ttft_p95,optional"`
	TTFTP99 *int64 `parquet:"ttft_p99,optional"`
	TPOTP50 *int64 `parquet:"tpot_p50,optional"`
	TPOTP95 *int64 `parquet:"tpot_p95,optional"`
	TPOTP99 *int64 `parquet:"tpot_p99,optional"`
	E2EP50  *int64 `parquet:"e2e_p50,optional"`
	E2EP95  *int64 `parquet:"e2e_p95,optional"`
	E2EP99  *int64 `parquet:"e2e_p99,optional"`
	E2EMean *int64 `parquet:"e2e_mean,optional"`

	Goodput     *float64 `parquet:"goodput,optional"`
	Delivered   *float64 `parquet:"delivered,optional"`
	MaxInFlight int32    `parquet:"max_in_flight"`
	LagP99      *int64   `parquet:"lag_p99,optional"`
	HitRate     *float64 `parquet:"hit_rate,optional"`
}

// Knee is a knee, or that of one of its seeds: one row of knees.parquet.
type Knee struct {
	Arm     string   `parquet:"arm,dict"`
	SLO     string   `parquet:"slo,dict"`
	Seed    *int64   `parquet:"seed,optional"` // nil: of all seeds
	Outcome string   `parquet:"outcome,dict"`
	Why     *string  `parquet:"why,optional"`
	Rate    *float64 `parquet:"rate,optional"`
	Lo      *float64 `parquet:"lo,optional"`
	Hi      *float64 `parquet:"hi,optional"`
	N       int32    `parquet:"n"`
}

// WriteTrials writes the trials of a sweep into the run.
func (w *Writer) WriteTrials(rows []Trial) error { return writeTable(w, TrialsName, rows) }

// WriteKnees writes the knees of a sweep into the run.
func (w *Writer) WriteKnees(rows []Knee) error { return writeTable(w, KneesName, rows) }

func writeTable[T any](w *Writer, name string, rows []T) error {
	var b bytes.Buffer
	out := parquet.NewGenericWriter[T](&b, parquet.Compression(&parquet.Zstd))
	_, err := out.Write(rows)
	if err == nil {
		err = out.Close()
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return w.WriteFile(name, b.Bytes())
}

// Trials reads the trials of a sweep; found is false for a run that is none.
func (r *Run) Trials() (rows []Trial, found bool, err error) {
	return readTable[Trial](r.Dir, TrialsName)
}

// Knees reads the knees of a sweep; found is false for a run that is none.
func (r *Run) Knees() (rows []Knee, found bool, err error) { return readTable[Knee](r.Dir, KneesName) }

func readTable[T any](dir, name string) (rows []T, found bool, err error) {
	in, err := os.Open(filepath.Join(dir, name))
	if errors.Is(err, os.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read %s: %w", name, err)
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return nil, true, fmt.Errorf("read %s: %w", name, err)
	}
	file, err := parquet.OpenFile(in, info.Size())
	if err != nil {
		return nil, true, fmt.Errorf("read %s: %w", in.Name(), err)
	}
	all := parquet.NewGenericReader[T](file)
	defer all.Close()
	rows = make([]T, all.NumRows())
	n, err := all.Read(rows)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, true, fmt.Errorf("read %s: %w", in.Name(), err)
	}
	return rows[:n], true, nil
}
