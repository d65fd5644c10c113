package spec

import "cmp"

// Delegation bounds what agents ask of other agents. Zero means the default.
type Delegation struct {
	Depth  int `json:"depth,omitempty" minimum:"1" jsonschema:"How many agents may stand above one that was asked for; default 3."`
	FanOut int `json:"fan_out,omitempty" minimum:"1" jsonschema:"How many tasks one agent may have asked for that have not ended; default 8."`
}

// The defaults of Delegation.
const (
	DefaultDepth  = 3
	DefaultFanOut = 8
)

// Validate returns every fault of bounds that have been filled in: a zero that is still there was written.
func (d Delegation) Validate() []Problem {
	v := &problems{}
	for _, bound := range []struct {
		name  string
		value int
	}{{"depth", d.Depth}, {"fan_out", d.FanOut}} {
		if bound.value == 0 {
			v.addf("delegation."+bound.name, "", "%s is from 1 on; leave `%s` out of a role's tools to have none",
				bound.name, ToolDelegate)
		}
	}
	return v.list
}

// WithDefaults returns the bounds with every zero filled in.
func (d Delegation) WithDefaults() Delegation {
	d.Depth, d.FanOut = cmp.Or(d.Depth, DefaultDepth), cmp.Or(d.FanOut, DefaultFanOut)
	return d
}
