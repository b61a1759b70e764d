package cli

import (
	"fmt"
	"strings"

	"goodput/fakeengine/fault"
	"goodput/loadgen/clock"
	"goodput/loadgen/plan"
	"goodput/loadgen/record"
)

// faultsName is the copy of the fault script in a run directory.
const faultsName = "faults.yaml"

// readFaults reads the plan's fault script, if it has one.
func readFaults(p *plan.Plan) (fault.Script, []byte, error) {
	if p.Faults == "" {
		return nil, nil, nil
	}
	name, text := "on the command line", []byte(p.Faults)
	if !strings.HasPrefix(strings.TrimSpace(p.Faults), "[") {
		var err error
		if text, err = readLimited(p.Faults, plan.MaxFile); err != nil {
			return nil, nil, fmt.Errorf("--faults: %w", err)
		}
		name = p.Faults
	}
	script, err := fault.Parse(name, text)
	if err != nil {
		return nil, nil, fmt.Errorf("--faults: %w", err)
	}
	return script, text, nil
}

// faultEvents is what happened, as the manifest has it.
func faultEvents(history []fault.Event, name func(i int) string) []record.Event {
	var out []record.Event
	for _, e := range history {
		r := record.Event{At: clock.Time(e.At), What: e.What, Over: e.Over}
		if e.Replica != fault.All {
			r.Replica = name(e.Replica)
		}
		out = append(out, r)
	}
	return out
}
