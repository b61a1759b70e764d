package monitor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Schema is the form of the JSON of a Picture.
const Schema = 1

// mostValues bounds what JSON from elsewhere may hold, by its commas: a few bytes of it
// can stand for an entry of hundreds. The picture of 20,000 replicas has fewer.
const mostValues = 1 << 20

// mostRows bounds the rows of a heat map, which a screen has for each of its columns.
const mostRows = 4096

// CheckSize refuses JSON that would take more memory than any that goodput writes.
func CheckSize(b []byte) error {
	if n := bytes.Count(b, []byte{','}); n > mostValues {
		return fmt.Errorf("it holds %d values, more than the %d of any picture: was it written by goodput?", n, mostValues)
	}
	return nil
}

// ParsePicture reads the JSON of a Picture that another process has told. What is missing
// is unknown. An error says what is wrong with it.
func ParsePicture(b []byte) (Picture, error) {
	if err := CheckSize(b); err != nil {
		return Picture{}, err
	}
	p := Blank("")
	p.Schema, p.State = 0, ""
	if err := json.Unmarshal(b, &p); err != nil {
		return Picture{}, err
	}
	return p, p.check()
}

// check refuses what no Board draws and screens can't show.
func (p *Picture) check() error {
	switch {
	case p.Schema == 0 && p.State == "":
		return errors.New("it is no picture of a run, which has a schema and a state")
	case p.Schema != Schema:
		return fmt.Errorf("schema %d is none that is read here, which is %d: was it written by another version of goodput?", p.Schema, Schema)
	case len(p.Series) > seconds:
		return fmt.Errorf("it has points of %d seconds, more than the %d that are kept", len(p.Series), seconds)
	case len(p.Heat.Bounds) > mostRows:
		return fmt.Errorf("its heat map has %d rows, more than %d", len(p.Heat.Bounds), mostRows)
	case len(p.Heat.TTFT) > seconds || len(p.Heat.E2E) > seconds:
		return fmt.Errorf("its heat map has more columns than the %d seconds that are kept", seconds)
	}
	return nil
}
