package trace

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"goodput/datasets"
)

// FuzzAzure compares what is accepted with the CSV reader and the time parser of
// the standard library.
func FuzzAzure(f *testing.F) {
	addFile(f, "testdata/azure_2023_min.csv")
	f.Add([]byte("GeneratedTokens,TIMESTAMP,ContextTokens\n7,2024-05-12 00:00:00.001163+00:00,9\n8,2024-05-12 00:00:01Z,10\n"))
	f.Add([]byte("TIMESTAMP,ContextTokens,GeneratedTokens\n2024-02-30 00:00:00,1,1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := read(Azure, bytes.NewReader(data), "f", Options{})
		if err != nil {
			return
		}
		checkItems(t, set)
		records, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
		if err != nil {
			t.Fatalf("accepted, but not CSV: %v", err)
		}
		header := records[0]
		field := func(row int, name string) string { return records[row+1][slices.Index(header, name)] }
		if len(records)-1 != set.Len() {
			t.Fatalf("%d rows of %d", set.Len(), len(records)-1)
		}
		var first time.Time
		var it datasets.Item
		for i := range set.Len() {
			set.Item(i, &it)
			at := parseTime(t, field(i, "TIMESTAMP"))
			if i == 0 {
				first = at
			}
			if it.At != at.Sub(first) || strconv.Itoa(it.In) != trimZeros(field(i, "ContextTokens")) ||
				strconv.Itoa(it.Out) != trimZeros(field(i, "GeneratedTokens")) {
				t.Fatalf("row %d is %+v, the file says %v", i, it, records[i+1])
			}
		}
	})
}

func trimZeros(s string) string {
	for len(s) > 1 && s[0] == '0' {
		s = s[1:]
	}
	return s
}

func parseTime(t *testing.T, s string) time.Time {
	for _, layout := range []string{"2006-01-02 15:04:05", "2006-01-02 15:04:05Z07:00"} {
		if v, err := time.Parse(layout, s); err == nil {
			return v
		}
	}
	t.Fatalf("accepted, but not a time: %q", s)
	return time.Time{}
}

// FuzzMooncake compares what is accepted with the JSON reader of the standard
// library.
func FuzzMooncake(f *testing.F) {
	addFile(f, "testdata/mooncake_min.jsonl")
	addFile(f, "testdata/mooncake_bad.jsonl")
	f.Add([]byte(`{"hash_ids":[1,1],"output_length":1,"input_length":513,"timestamp":9223372036854}`))
	f.Add([]byte(`{"timestamp":0,"input_length":1,"output_length":1,"hash_ids":[0]}` + "\r\n" + `{ "timestamp" : 0,"input_length":1,"output_length":1,"hash_ids":[ 0 ] } `))
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := read(Mooncake, bytes.NewReader(data), "f", Options{})
		if err != nil {
			return
		}
		checkItems(t, set)
		type row struct {
			Timestamp int64    `json:"timestamp"`
			In        int      `json:"input_length"`
			Out       int      `json:"output_length"`
			IDs       []uint64 `json:"hash_ids"`
		}
		var all []row
		for line := range bytes.SplitSeq(bytes.TrimSuffix(data, []byte("\n")), []byte("\n")) {
			var r row
			if err := json.Unmarshal(line, &r); err != nil {
				t.Fatalf("accepted, but not JSON: %v", err)
			}
			all = append(all, r)
		}
		if len(all) != set.Len() {
			t.Fatalf("%d rows of %d", set.Len(), len(all))
		}
		keys := map[uint64]uint64{}
		var it datasets.Item
		for i, r := range all {
			set.Item(i, &it)
			if it.At.Milliseconds() != r.Timestamp-all[0].Timestamp || it.In != r.In || it.Out != r.Out || len(it.Prompt) != len(r.IDs) {
				t.Fatalf("row %d is %+v, the file says %+v", i, it, r)
			}
			for j, id := range r.IDs {
				if key, ok := keys[id]; ok && key != it.Prompt[j].Key {
					t.Fatalf("id %d has keys %#x and %#x", id, key, it.Prompt[j].Key)
				}
				keys[id] = it.Prompt[j].Key
			}
		}
	})
}

func addFile(f *testing.F, path string) {
	b, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
}

// checkItems tests what every set promises about one item after the other.
func checkItems(t *testing.T, s datasets.Set) {
	var it datasets.Item
	var last time.Duration
	for i := range s.Len() {
		s.Item(i, &it)
		sum := 0
		for _, sp := range it.Prompt {
			if sp.Tokens < 1 {
				t.Fatalf("row %d has a span of %d tokens", i, sp.Tokens)
			}
			sum += sp.Tokens
		}
		if sum != it.In || it.In < 1 || it.Out < 1 || it.At < last || (i == 0 && it.At != 0) {
			t.Fatalf("row %d: %+v", i, it)
		}
		last = it.At
	}
}
