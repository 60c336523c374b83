// Package table completes models of which only the name is known.
package table

import (
	"reflect"

	"github.com/pleat-dev/pleat/model"
)

// Complete returns what [model.DefaultModels] has of a model if m says no more than its ID and how the
// conversation with it thinks; else m. Of names that the table does not have it takes only the window.
func Complete(m model.Model) model.Model {
	talk := model.ThinkingRule{First: m.Thinking.First, Silent: m.Thinking.Silent, Drops: m.Thinking.Drops}
	if m.ID == "" || !reflect.DeepEqual(m, model.Model{ID: m.ID, Thinking: talk}) {
		return m
	}
	row, known := model.DefaultModels().Lookup(m.ID)
	if !known {
		row = model.Model{Window: row.Window}
	}
	row.ID = m.ID
	row.Thinking.First, row.Thinking.Silent, row.Thinking.Drops = talk.First, talk.Silent, talk.Drops
	return row
}
