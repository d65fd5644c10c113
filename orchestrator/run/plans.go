package run

import "slices"

// Plans are those of the plan file, of the master and of requests.
type Plans struct {
	All []PlanData
	// Edits are the plans that a person edited, by their index in All, with the position of the edit.
	Edits []Edit
	// Approved counts the plans that a person, or --yes, approved.
	Approved int
	// Writes reports each plan whether a task of it changes files; toApprove are the plans that a person has to approve.
	Writes    []bool
	toApprove []int
}

// Edit is a plan that a person edited, by its index, and where in the log that was.
type Edit struct {
	Plan int
	Pos  uint64
}

// add adds a plan and returns its index.
func (p *Plans) add(d PlanData, spec *Spec) int {
	at := len(p.All)
	p.All, p.Writes = append(p.All, d), append(p.Writes, spec.Writes(d))
	asks := !d.ofPerson() && d.Request == "" && d.Follows == "" && !spec.AutoApprove
	if asks && p.Writes[at] && at >= p.Approved {
		p.toApprove = append(p.toApprove, at)
	}
	return at
}

// approve folds that the first plans are approved.
func (p *Plans) approve(count int) {
	p.Approved = count
	p.toApprove = slices.DeleteFunc(p.toApprove, func(plan int) bool { return plan < count })
}

// withdraw empties a plan that waits for approval.
func (p *Plans) withdraw(at int) {
	p.settle(at)
	p.All[at], p.Writes[at] = PlanData{By: p.All[at].By}, false
}

// replace puts another plan in the place of one that waits for approval.
func (p *Plans) replace(at int, d PlanData, spec *Spec, pos uint64) {
	p.All[at], p.Writes[at] = d, spec.Writes(d)
	if !p.Writes[at] {
		p.settle(at)
	}
	p.Edits = append(p.Edits, Edit{Plan: at, Pos: pos})
}

func (p *Plans) settle(at int) {
	p.toApprove = slices.DeleteFunc(p.toApprove, func(plan int) bool { return plan == at })
}

// ToApprove is the index of the oldest plan that writes and is not approved; -1 when there is none.
func (p *Plans) ToApprove() int {
	if len(p.toApprove) == 0 {
		return -1
	}
	return p.toApprove[0]
}

// Now is a plan as it would start now: with its tasks as they were revised, without those that have ended.
func (p *Plans) Now(at int, tasks *Tasks) PlanData {
	d := p.All[at]
	d.Tasks = nil
	for _, planned := range p.All[at].Tasks {
		if t := tasks.ByID[planned.ID]; t != nil && t.Plan == at && !t.Ended() {
			d.Tasks = append(d.Tasks, t.Task)
		}
	}
	return d
}
