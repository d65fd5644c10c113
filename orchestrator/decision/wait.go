package decision

import "divisi/orchestrator/run"

// waitsFor returns what the run waits for a person to do, once no attempt is active; empty while one is. What lies on a queue
// that no worker serves is not.
func waitsFor(s *run.State) string {
	active, byRole := s.Queue.AtWork()
	for role := range s.Unserved {
		active -= byRole[role]
	}
	if active > 0 || len(s.Later) > 0 || s.Status != run.Planning && s.Status != run.Running {
		return ""
	}
	if s.Line != "" {
		return "the line to be started again"
	}
	if open := ForPerson(s); len(open) > 0 {
		return open[0].Text
	}
	return ""
}

// AnnounceWait records when the run begins to wait for a person, and when that ends.
func AnnounceWait(s *run.State) []run.Action {
	what := waitsFor(s)
	if what == s.Wait.For {
		return nil
	}
	return []run.Action{run.SetRun(run.Data{Wait: &what})}
}

// Stuck stops a run that only a person's answer can continue, while no person watches. The question can be answered while the
// run is stopped.
func Stuck(s *run.State) []run.Action {
	if s.Status != run.Running && s.Status != run.Planning {
		return nil
	}
	working, _ := s.Queue.AtWork()
	open := ForPerson(s)
	if working > 0 || len(s.Later) > 0 || len(open) == 0 || len(s.Decisions.Waiting()) > 0 {
		return nil
	}
	return []run.Action{run.Stop(run.ReasonWaits + open[0].Text)}
}
