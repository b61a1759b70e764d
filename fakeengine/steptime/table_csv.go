package steptime

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
)

// row is one record of a CSV file.
type row struct {
	file   string
	r      *csv.Reader
	header []string
	fields []string
}

// readCSV calls each with every record after the header, which must be exactly one
// of the given ones.
func readCSV(files fs.FS, name string, headers [][]string, each func(*row) error) error {
	var header []string
	f, err := files.Open(name)
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	defer f.Close()
	in := csv.NewReader(f)
	in.ReuseRecord = true
	for first := true; ; first = false {
		fields, err := in.Read()
		if errors.Is(err, io.EOF) && !first {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		if first {
			i := slices.IndexFunc(headers, func(h []string) bool { return slices.Equal(fields, h) })
			if i < 0 {
				return fmt.Errorf("%s:1:1: header %q: need %q", name, strings.Join(fields, ","), strings.Join(headers[0], ","))
			}
			header = headers[i]
			continue
		}
		if err := each(&row{file: name, r: in, header: header, fields: fields}); err != nil {
			return err
		}
	}
}

func (r *row) errorf(field int, format string, args ...any) error {
	l, c := r.r.FieldPos(field)
	return fmt.Errorf("%s:%d:%d: %s: %s", r.file, l, c, r.header[field], fmt.Sprintf(format, args...))
}

func (r *row) count(field, least int) (int, error) {
	n, err := strconv.Atoi(r.fields[field])
	if err != nil || n < least || n > maxCount {
		return 0, r.errorf(field, "%q: need a whole number, %d to %d", r.fields[field], least, maxCount)
	}
	return n, nil
}

// picoseconds reads a time in microseconds.
func (r *row) picoseconds(field int) (float64, error) {
	us, err := strconv.ParseFloat(r.fields[field], 64)
	if err != nil || !(us > 0 && us <= maxMicros) {
		return 0, r.errorf(field, "%q: need microseconds, more than 0 and at most %g", r.fields[field], float64(maxMicros))
	}
	return math.Round(us * 1e6), nil
}
