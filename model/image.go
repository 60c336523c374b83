package model

import (
	"fmt"
	"math"
)

// ImageRule names a provider's way of counting the tokens of an image: "anthropic",
// "anthropic-high", "openai-tile", "openai-patch" or "gemini"; empty: one token for 750 pixels,
// at most 1,600. All rules were
// read in the providers' documentation in October 2026 and are estimates: providers
// change them with the model.
type ImageRule string

// The rules, which the table of models gives by name. A picture whose size is not known, because
// it is given by reference, counts as a very large square.
const (
	// imageDefault: one token for 750 pixels, at most 1,600.
	imageDefault ImageRule = ""
	// imageAnthropic: scaled down to a long edge of 1,568 pixels, then one token for 750
	// pixels, at most 1,600.
	imageAnthropic ImageRule = "anthropic"
	// imageAnthropicHigh is the same for models that see more (4.7 and later): 2,576
	// pixels, at most 4,784 tokens.
	imageAnthropicHigh ImageRule = "anthropic-high"
	// imageOpenAITile: scaled down into 2,048 by 2,048 and to a short edge of 768, then 85
	// tokens and 170 for each tile of 512 by 512; with low detail 85. Some models of this
	// kind take up to a fifth less.
	imageOpenAITile ImageRule = "openai-tile"
	// imageOpenAIPatch: one token for each patch of 32 by 32 pixels, scaled down to at
	// most 2,500 patches; with low detail at most 256.
	imageOpenAIPatch ImageRule = "openai-patch"
	// imageGemini: 1,120 tokens whatever the size, the default media resolution.
	imageGemini ImageRule = "gemini"
)

func (r ImageRule) check() error {
	switch r {
	case imageDefault, imageAnthropic, imageAnthropicHigh, imageOpenAITile, imageOpenAIPatch, imageGemini:
		return nil
	}
	return fmt.Errorf("images %q is not a known rule", string(r))
}

// Tokens returns the tokens of a picture of that size in pixels, with the provider's
// detail hint where it has one. A width or height of 0 is not known.
func (r ImageRule) Tokens(width, height int, detail string) int {
	if width <= 0 || height <= 0 {
		width, height = 1<<16, 1<<16 // every rule scales it down
	}
	w, h := float64(width), float64(height)
	switch r {
	case imageAnthropic:
		return pixelTokens(w, h, 1568, 1600)
	case imageAnthropicHigh:
		return pixelTokens(w, h, 2576, 4784)
	case imageOpenAITile:
		if detail == "low" {
			return 85
		}
		w, h = scaleDown(w, h, 2048/max(w, h))
		w, h = scaleDown(w, h, 768/min(w, h))
		return 85 + 170*int(math.Ceil(w/512)*math.Ceil(h/512))
	case imageOpenAIPatch:
		limit := 2500.0
		if detail == "low" {
			limit = 256
		}
		w, h = scaleDown(w, h, math.Sqrt(limit*32*32/(w*h)))
		return int(min(math.Ceil(w/32)*math.Ceil(h/32), limit))
	case imageGemini:
		return 1120
	}
	return pixelTokens(w, h, math.Inf(1), 1600)
}

func pixelTokens(w, h, edge, limit float64) int {
	w, h = scaleDown(w, h, edge/max(w, h))
	return int(min(math.Ceil(w*h/750), limit))
}

// scaleDown scales a size by f, never up.
func scaleDown(w, h, f float64) (float64, float64) {
	if f >= 1 {
		return w, h
	}
	return w * f, h * f
}

// PageTokens is what a page of a PDF counts. Providers show the model the page's text,
// 1,500 to 3,000 tokens of it, and a picture of the page; Gemini the picture alone.
func (r ImageRule) PageTokens() int {
	if r == imageGemini {
		return 560
	}
	return 3000
}
