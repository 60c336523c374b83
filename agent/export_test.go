package agent

import "github.com/pleat-dev/pleat/model"

// Tools lists the tools as the model is shown them.
func (a *Agent) Tools() []model.Tool { return a.defs }
