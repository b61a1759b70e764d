package trace

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzWekaIDs: ids are read as package json reads them, and refused where it refuses.
func FuzzWekaIDs(f *testing.F) {
	for _, text := range []string{
		`[]`, `[1]`, ` [ 1 , 2 ] `, `[1,2,3,4,5,6,7,8,9,10,11]`, `null`, `{}`, `1`, `"1"`, `[1.5]`, `[1e2]`, `[-3]`, `[-0]`, `[null]`,
		`[9223372036854775807]`, `[9223372036854775808]`, `[[1]]`, `["1"]`, `[01]`, `[1,]`, `[,1]`, `[1 2]`, `[`, ``,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		type plain struct {
			IDs []int64 `json:"hash_ids"`
		}
		type quick struct {
			IDs wekaIDs `json:"hash_ids"`
		}
		var want plain
		var got quick
		object := []byte(`{"hash_ids":` + text + `}`)
		wantErr, gotErr := json.Unmarshal(object, &want), json.Unmarshal(object, &got)
		if (wantErr == nil) != (gotErr == nil) {
			t.Fatalf("%q: got %v, want %v", text, gotErr, wantErr)
		}
		if wantErr == nil && (!cmp.Equal([]int64(got.IDs), want.IDs) || (got.IDs == nil) != (want.IDs == nil)) {
			t.Fatalf("%q: got %v, want %v", text, got.IDs, want.IDs)
		}
	})
}
