package wire

import "strconv"

// AgentID names one attempt of one task: task/attempt.
func AgentID(task string, attempt int) string { return task + "/" + strconv.Itoa(attempt) }
