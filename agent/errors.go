package agent

import "errors"

// ErrModel is in every error of a model's server, also in the last BusyError once there were tries enough.
var ErrModel = errors.New("the model did not answer")

// ErrSteps says that the model did not come to an end.
var ErrSteps = errors.New("the model did not come to an end")

// ErrTaken says that another process goes on with the task.
var ErrTaken = errors.New("another process goes on with this task")
