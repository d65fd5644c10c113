package run

// IntegrationRef is the ref of a run's integration branch, in Divisi's mirror and, at the end, in the user's repository.
func IntegrationRef(run string) string { return "refs/heads/divisi/" + run }
