package record

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

func TestOpenSaysWhatIsMissing(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, dir string)
		want   string
	}{
		{"empty directory", func(t *testing.T, dir string) {
			for _, n := range strings.Fields(listDir(t, dir)) {
				remove(t, dir, n)
			}
		}, "expected manifest.json"},
		{"no directory", func(t *testing.T, dir string) {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}, "expected manifest.json"},
		{"a segment is gone", func(t *testing.T, dir string) { remove(t, dir, "requests-00001.parquet") }, "lists requests-00001.parquet"},
		{"manifest garbled", func(t *testing.T, dir string) {
			writeFiles(t, dir, map[string][]byte{ManifestName: []byte("{")})
		}, "manifest.json: parse manifest"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := write(t, plainRows(3, 1), virtual)
			c.damage(t, dir)
			if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), dir) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// foreign is a Parquet file of somebody else, with the metadata kv.
func foreign(t *testing.T, kv ...string) []byte {
	t.Helper()
	type row struct {
		Seq string `parquet:"seq"`
	}
	var b bytes.Buffer
	opts := []parquet.WriterOption{}
	for i := 0; i < len(kv); i += 2 {
		opts = append(opts, parquet.KeyValueMetadata(kv[i], kv[i+1]))
	}
	w := parquet.NewGenericWriter[row](&b, opts...)
	if _, err := w.Write([]row{{"x"}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestRequestsSaysWhichFileIsWrong(t *testing.T) {
	for _, c := range []struct {
		name string
		file func(t *testing.T, good []byte) []byte
		want string
	}{
		{"empty", func(*testing.T, []byte) []byte { return nil }, "not a complete Parquet file"},
		{"cut", func(_ *testing.T, good []byte) []byte { return good[:len(good)-10] }, "not a complete Parquet file"},
		{"text", func(*testing.T, []byte) []byte { return []byte("PAR1, it says, but it is not") }, "not a complete Parquet file"},
		{"foreign", func(t *testing.T, _ []byte) []byte { return foreign(t) }, "not one of goodput"},
		{"other schema version", func(t *testing.T, _ []byte) []byte { return foreign(t, keySchema, "2") }, "schema 2 beside a manifest of schema 1"},
		{"other run", func(t *testing.T, _ []byte) []byte { return foreign(t, keySchema, "1", keyRun, "x") }, "of run x in the directory of run run"},
		{"other types", func(t *testing.T, _ []byte) []byte { return foreign(t, keySchema, "1", keyRun, "run") }, "column seq"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := write(t, plainRows(3, 1), virtual)
			const name = "requests-00001.parquet"
			writeFiles(t, dir, map[string][]byte{name: c.file(t, readFile(t, dir, name))})
			run, err := Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			err = run.Requests(func(*Request) error { return nil })
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), name) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestASegmentOfAnotherLengthIsNoticed(t *testing.T) {
	dir, other := write(t, plainRows(3, 1), virtual), write(t, plainRows(4, 1), virtual)
	const name = "requests-00001.parquet"
	writeFiles(t, dir, map[string][]byte{name: readFile(t, other, name)})
	run, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Requests(func(*Request) error { return nil }); err == nil || !strings.Contains(err.Error(), "4 rows") {
		t.Errorf("got %v", err)
	}
}

// TestDamageIsAnErrorNotAPanic flips bytes all over a segment. Pages carry no
// checksum that all readers check, so some flips go unnoticed; none may end the
// program.
func TestDamageIsAnErrorNotAPanic(t *testing.T) {
	dir := write(t, plainRows(20, 3), virtual)
	const name = "requests-00001.parquet"
	good := readFile(t, dir, name)
	noticed := 0
	for at := 0; at < len(good); at += 1 + len(good)/300 {
		bad := append([]byte{}, good...)
		bad[at] ^= 0x55
		writeFiles(t, dir, map[string][]byte{name: bad})
		run, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := run.Requests(func(*Request) error { return nil }); err != nil {
			noticed++
		}
	}
	if noticed < 50 {
		t.Errorf("%d of about 300 flips noticed", noticed)
	}
}

func TestAWALOfAnotherBuildIsRefused(t *testing.T) {
	dir := write(t, plainRows(3, 1), virtual)
	writeFiles(t, dir, map[string][]byte{"requests-00002.wal": []byte("goodput-wal 1 00000000\n")})
	run, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Requests(func(*Request) error { return nil }); err == nil || !strings.Contains(err.Error(), "this version of goodput") {
		t.Errorf("Requests: %v", err)
	}
	if _, err := Recover(dir); err == nil || !strings.Contains(err.Error(), "requests-00002.wal") {
		t.Errorf("Recover: %v", err)
	}
	if !strings.Contains(listDir(t, dir), "requests-00002.wal") {
		t.Error("the file that could not be read was removed")
	}
}
