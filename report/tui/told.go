package tui

import (
	"encoding/json"
	"errors"
	"fmt"

	"goodput/loadgen/monitor"
)

// Told is what one process tells another of an experiment, as JSON.
type Told struct {
	Picture monitor.Picture `json:"picture"`
	Doing   Doing           `json:"doing"`
}

// ParseTold reads it. An error says what is wrong with it.
func ParseTold(b []byte) (Told, error) {
	if err := monitor.CheckSize(b); err != nil {
		return Told{}, err
	}
	var raw struct {
		Picture json.RawMessage `json:"picture"`
		Doing   *Doing          `json:"doing"`
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		return Told{}, err
	}
	if raw.Picture == nil || raw.Doing == nil {
		return Told{}, errors.New("it tells of no experiment, which has a picture and what it is doing")
	}
	p, err := monitor.ParsePicture(raw.Picture)
	if err != nil {
		return Told{}, fmt.Errorf("its picture: %w", err)
	}
	if c := raw.Doing.Comparison; c != nil {
		err = c.check()
	}
	return Told{p, *raw.Doing}, err
}

// check refuses a table whose lines are not of its arms.
func (c *Comparison) check() error {
	for i := range c.Figures {
		if f := &c.Figures[i]; len(f.Cells) != len(c.Arms)-1 {
			return fmt.Errorf("its figure %q has %d differences of %d arms", f.Title, len(f.Cells), len(c.Arms))
		}
	}
	return nil
}
