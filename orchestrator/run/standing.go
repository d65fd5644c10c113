package run

import "slices"

// Standing is the answer of a person that accepts every patch of the run that is alike, held now or later.
type Standing struct {
	// ID is the decision that the person answered, Shape that of its patch.
	ID    string `json:"id"`
	Shape string `json:"shape"`
	By    string `json:"by"`
	// Back is why it stands no more.
	Back string `json:"back,omitempty"`
	// Given counts the other decisions that it was the answer to.
	Given int `json:"-"`
	// not are decisions whose answer by it was taken back: a person decides these.
	not map[string]bool
}

// Standings are the answers that stand, oldest first.
type Standings []*Standing

// Of is the one that was given with the answer to a decision; nil for none.
func (x Standings) Of(id string) *Standing {
	for _, a := range x {
		if a.ID == id {
			return a
		}
	}
	return nil
}

// For is the oldest one for a decision about a patch of a shape; nil for none.
func (x Standings) For(id, shape string) *Standing {
	for _, a := range x {
		if a.Shape == shape && shape != "" && !a.not[id] {
			return a
		}
	}
	return nil
}

// apply folds that an answer stands, or stands no more; nil is neither.
func (x *Standings) apply(a *Standing) {
	if a == nil {
		return
	}
	had := x.Of(a.ID)
	switch {
	case a.Back == "" && had == nil:
		a.not = map[string]bool{}
		*x = append(*x, a)
	case a.Back != "" && had != nil:
		*x = slices.DeleteFunc(*x, func(o *Standing) bool { return o == had })
	}
}

// given folds that the run has acted on an answer.
func (x Standings) given(a Answer) {
	if by := x.Of(a.Standing); by != nil {
		by.Given++
	}
}

// except folds that an answer does not count.
func (x Standings) except(a Answer) {
	if by := x.Of(a.Standing); by != nil {
		by.not[a.ID] = true
	}
}
