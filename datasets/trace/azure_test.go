package trace_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"goodput/datasets"
	"goodput/datasets/trace"
)

func TestAzureRows(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{
			"columns by name",
			"GeneratedTokens,TIMESTAMP,ContextTokens\n7,2023-11-16 00:00:00.0000000,9\n8,2023-11-16 00:00:00.0000001,10\n",
			"0s 9 7\n100ns 10 8\n",
		},
		{
			"zones and fractions of 2024",
			"TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-12 00:00:00+00:00,100,10\n" +
				"2024-05-12 00:00:00.001163+00:00,200,3\n2024-05-12 02:00:01.5+02:00,300,1\n",
			"0s 100 10\n1.163ms 200 3\n1.5s 300 1\n",
		},
		{
			"equal times",
			"TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03,1,1\r\n2023-11-16 18:17:03,2,2",
			"0s 1 1\n0s 2 2\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, trace.Azure, write(t, "azure.csv", c.text), 0)
			if diff := cmp.Diff(c.want, rows(s)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	t.Run("file", func(t *testing.T) {
		want := "0s 100 10\n100ns 200 8\n1.5s 7437 1899\n5h42m57s 3 6\n"
		if diff := cmp.Diff(want, rows(open(t, trace.Azure, "testdata/azure_2023_min.csv", 0))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestAzureFirstGaps(t *testing.T) {
	for file, want := range map[string]time.Duration{
		"azure/AzureLLMInferenceTrace_code_2023.head300.csv": 52 * time.Millisecond,
		"azure/AzureLLMInferenceTrace_conv_2023.head300.csv": 4314579 * time.Microsecond,
	} {
		s := open(t, trace.Azure, excerpt(t, file), 0)
		if got := items(s)[1].At; got != want {
			t.Errorf("%s: first gap %v, want %v", file, got, want)
		}
	}
}

// TestAzureReuseIsUnknown: private prompts are how such a trace is offered, not a
// finding about it.
func TestAzureReuseIsUnknown(t *testing.T) {
	s := open(t, trace.Azure, "testdata/azure_2023_min.csv", 0)
	if h := datasets.Ideal(s, s.Len(), 16, nil); h.Known {
		t.Errorf("ideal hit %+v", h)
	}
}

func TestAzureErrors(t *testing.T) {
	const head = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
	const good = "2023-11-16 18:17:03.0000000,100,10\r\n"
	for _, c := range []struct{ name, text, want string }{
		{"extra column", "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n", `:1: header: found column "NumImages", expected TIMESTAMP`},
		{"column twice", "TIMESTAMP,ContextTokens,ContextTokens\n", ":1: header: found column ContextTokens twice"},
		{"missing column", "TIMESTAMP,ContextTokens\n", `:1: header: found no column GeneratedTokens in "TIMESTAMP,ContextTokens"`},
		{"no header", good, `:1: header: found column "2023-11-16 18:17:03.0000000"`},
		{"byte order mark", "\ufeff" + head + good, `:1: header: found column "\ufeffTIMESTAMP"`},
		{"no rows", head, ": found no rows, expected at least one"},
		{"missing field", head + good + "2023-11-16 18:17:03.0000000,100\r\n", `:3: row: found 2 fields in "2023-11-16 18:17:03.0000000,100", expected 3`},
		{"extra field", head + good + "2023-11-16 18:17:03.0000000,100,1,1\r\n", ":3: row: found 4 fields"},
		{"blank line", head + good + "\r\n" + good, `:3: row: found 1 fields in "", expected 3`},
		{"no tokens", head + "2023-11-16 18:17:03.0000000,0,10\r\n", `:2: ContextTokens: found "0", expected a whole number from 1 to 268435456`},
		{"no answer", head + "2023-11-16 18:17:03.0000000,10,0\r\n", `:2: GeneratedTokens: found "0", expected a whole number`},
		{"negative", head + "2023-11-16 18:17:03.0000000,-5,0\r\n", `:2: ContextTokens: found "-5"`},
		{"fraction", head + "2023-11-16 18:17:03.0000000,5,1.5\r\n", `:2: GeneratedTokens: found "1.5"`},
		{"spaces", head + "2023-11-16 18:17:03.0000000, 5,1\r\n", `:2: ContextTokens: found " 5"`},
		{"huge", head + "2023-11-16 18:17:03.0000000,99999999999999999999,1\r\n", `:2: ContextTokens: found "99999999999999999999"`},
		{"too many", head + "2023-11-16 18:17:03.0000000,268435457,1\r\n", `:2: ContextTokens: found "268435457"`},
		{"seconds", head + "1700158623,5,1\r\n", `:2: TIMESTAMP: found "1700158623", expected a time such as`},
		{"order", head + good + "2023-11-16 18:17:02.9999999,5,1\r\n", `:3: TIMESTAMP: found a time that is 100ns before the previous row's`},
		{"long field", head + strings.Repeat("9", 100) + ",5,1\r\n", `" and 40 bytes more, expected a time`},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := write(t, "azure.csv", c.text)
			s, err := trace.Open(trace.Azure, path, trace.Options{})
			if err == nil || !strings.HasPrefix(err.Error(), path+":") || !strings.Contains(err.Error(), c.want) || s != nil {
				t.Errorf("got %v, %v, want an error with %q", s, err, c.want)
			}
		})
	}
}
