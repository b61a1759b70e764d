package record

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/parquet-go/parquet-go"

	"goodput/loadgen/clock"
)

// TestEngineSamplesAreReadBack: over more than one file, in order, with unknown apart
// from 0 in each column.
func TestEngineSamplesAreReadBack(t *testing.T) {
	dir := t.TempDir()
	l := NewEngineLog(dir, true)
	var want []EngineSample
	for i := range engineSegment + 40 {
		s := UnknownSample()
		s.At, s.Replica, s.Dialect = clock.Time(i), "a", "vllm"
		s.Values[i%NumSignals] = float64(i % 3)
		if i%2 == 0 {
			s.Arm, s.Trial, s.AsOf, s.Role, s.Source = "direct", 2, clock.Time(i-1), SampleRouter, SampleInProcess
		}
		l.Write(&s)
		want = append(want, s)
	}
	if dropped, err := l.Close(); dropped != 0 || err != nil {
		t.Fatal(dropped, err)
	}
	var got []EngineSample
	r := &Run{Dir: dir}
	if found, err := r.Engines(func(s *EngineSample) error { got = append(got, *s); return nil }); !found || err != nil {
		t.Fatal(found, err)
	}
	if d := cmp.Diff(want, got, cmpopts.EquateNaNs()); d != "" {
		t.Errorf("samples (-written +read):\n%s", d)
	}
}

// TestSamplesOfAMinuteAreAFile: in real time, so that a kill loses no more than a minute.
func TestSamplesOfAMinuteAreAFile(t *testing.T) {
	for _, c := range []struct {
		virtual bool
		files   int
	}{{false, 3}, {true, 1}} {
		dir := t.TempDir()
		l := NewEngineLog(dir, c.virtual)
		for i := range 130 {
			s := UnknownSample()
			s.At = clock.Time(i) * engineLasts / 60
			l.Write(&s)
		}
		if dropped, err := l.Close(); dropped != 0 || err != nil {
			t.Fatal(dropped, err)
		}
		files, err := filepath.Glob(dir + "/engine-*.parquet")
		if err != nil || len(files) != c.files {
			t.Errorf("virtual %v: %v, %v", c.virtual, files, err)
		}
	}
}

func TestNoSamplesNoFile(t *testing.T) {
	dir := t.TempDir()
	if _, err := NewEngineLog(dir, false).Close(); err != nil {
		t.Fatal(err)
	}
	if found, err := (&Run{Dir: dir}).Engines(func(*EngineSample) error { return nil }); found || err != nil {
		t.Error(found, err)
	}
}

// TestSignalsHaveTheirColumns: each signal is in the column of its name.
func TestSignalsHaveTheirColumns(t *testing.T) {
	schema := parquet.SchemaOf(engineRow{})
	for i := range Signal(NumSignals) {
		s := UnknownSample()
		s.Values[i] = 7
		row := s.row()
		for _, v := range schema.Deconstruct(nil, &row) {
			if name := schema.Columns()[v.Column()][0]; v.Kind() == parquet.Double && v.Double() == 7 && name != i.String() {
				t.Errorf("signal %v is in column %s", i, name)
			}
		}
		back := row.sample()
		if math.IsNaN(back.Values[i]) {
			t.Errorf("signal %v is lost", i)
		}
	}
}
