package agent

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"math"
	"math/big"
	"strings"

	"github.com/pleat-dev/pleat/model"
)

func calc() Tool {
	return Tool{
		Definition: model.Tool{
			Name: toolCalc,
			Description: "Works out an arithmetic expression exactly: + - * / % and parentheses, integers of any size, fractions, pow(a, b), sqrt, abs, min, max, floor, ceil, round, " +
				"log, log2, log10, exp, sin, cos, tan, pi, e. Use it for sums, averages and unit conversions instead of reckoning in your head.",
			Schema: `{"type":"object","properties":{"expression":{"type":"string","description":"For example (1024*1024 - 17) / 3"}},"required":["expression"]}`,
		},
		Subject: func(c Call) string {
			var in struct{ Expression string }
			_ = c.Decode(&in) // Run tells what is wrong
			return in.Expression
		},
		Run: func(_ context.Context, c Call) (string, error) {
			var in struct{ Expression string }
			if err := c.Decode(&in); err != nil {
				return "", err
			}
			v, err := evaluate(in.Expression)
			if err != nil {
				return "", fmt.Errorf("work out %q: %w", in.Expression, err)
			}
			return v + "\n", nil
		},
	}
}

// evaluate works an expression out. Sizes are bounded, so that no expression takes long.
func evaluate(expr string) (string, error) {
	if len(expr) > 2_000 {
		return "", errors.New("it is too long")
	}
	expr = strings.NewReplacer("×", "*", "÷", "/", "−", "-").Replace(expr)
	if strings.Contains(expr, "**") || strings.Contains(expr, "^") {
		return "", errors.New("write powers as pow(a, b)")
	}
	tree, err := parser.ParseExpr(expr)
	if err != nil {
		return "", errors.New("it is not an arithmetic expression")
	}
	v, err := value(tree)
	if err != nil {
		return "", err
	}
	return show(v)
}

// show writes a number: exactly if it is whole or a short decimal, else to 17 digits.
func show(v constant.Value) (string, error) {
	if i := constant.ToInt(v); i.Kind() == constant.Int {
		return i.ExactString(), nil
	}
	if r, ok := constant.Val(constant.ToFloat(v)).(*big.Rat); ok {
		if digits, exact := r.FloatPrec(); exact && digits <= 30 {
			return r.FloatString(digits), nil
		}
	}
	f, _ := constant.Float64Val(v)
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return "", errors.New("the result is too large")
	}
	return fmt.Sprintf("%.17g", f), nil
}

func value(e ast.Expr) (constant.Value, error) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return value(e.X)
	case *ast.BasicLit:
		if e.Kind == token.INT || e.Kind == token.FLOAT {
			return bounded(constant.MakeFromLiteral(e.Value, e.Kind, 0))
		}
	case *ast.Ident:
		switch e.Name {
		case "pi":
			return constant.MakeFloat64(math.Pi), nil
		case "e":
			return constant.MakeFloat64(math.E), nil
		}
		return nil, fmt.Errorf("%q is not known", e.Name)
	case *ast.UnaryExpr:
		x, err := value(e.X)
		if err != nil {
			return nil, err
		}
		if e.Op == token.SUB || e.Op == token.ADD {
			return constant.UnaryOp(e.Op, x, 0), nil
		}
	case *ast.BinaryExpr:
		return binary(e)
	case *ast.CallExpr:
		return function(e)
	}
	return nil, errors.New("only numbers, + - * / %, parentheses and functions are known")
}

// bounded refuses numbers that would take long to work with.
func bounded(v constant.Value) (constant.Value, error) {
	switch {
	case v.Kind() == constant.Unknown:
		return nil, errors.New("a number cannot be read")
	case v.Kind() == constant.Int && constant.BitLen(v) > 1<<16:
		return nil, errors.New("a number is too large")
	}
	return v, nil
}

func binary(e *ast.BinaryExpr) (constant.Value, error) {
	x, err := value(e.X)
	if err != nil {
		return nil, err
	}
	y, err := value(e.Y)
	if err != nil {
		return nil, err
	}
	switch e.Op {
	case token.ADD, token.SUB, token.MUL:
		return bounded(constant.BinaryOp(x, e.Op, y))
	case token.QUO:
		if constant.Sign(y) == 0 {
			return nil, errors.New("division by zero")
		}
		return bounded(constant.BinaryOp(constant.ToFloat(x), token.QUO, constant.ToFloat(y)))
	case token.REM:
		x, y = constant.ToInt(x), constant.ToInt(y)
		if x.Kind() != constant.Int || y.Kind() != constant.Int || constant.Sign(y) == 0 {
			return nil, errors.New("% needs whole numbers, the second not zero")
		}
		return constant.BinaryOp(x, token.REM, y), nil
	}
	return nil, fmt.Errorf("%s is not known", e.Op)
}

// functions of one number, worked out in floating point.
var functions = map[string]func(float64) float64{
	"sqrt": math.Sqrt, "exp": math.Exp, "log": math.Log, "ln": math.Log, "log2": math.Log2, "log10": math.Log10,
	"sin": math.Sin, "cos": math.Cos, "tan": math.Tan, "floor": math.Floor, "ceil": math.Ceil, "round": math.Round, "abs": math.Abs,
}

func function(e *ast.CallExpr) (constant.Value, error) {
	id, ok := e.Fun.(*ast.Ident)
	if !ok {
		return nil, errors.New("that is not a function")
	}
	args := make([]constant.Value, len(e.Args))
	for i, a := range e.Args {
		var err error
		if args[i], err = value(a); err != nil {
			return nil, err
		}
	}
	switch f := functions[id.Name]; {
	case f != nil && len(args) == 1:
		if whole := constant.ToInt(args[0]); whole.Kind() == constant.Int {
			switch id.Name {
			case "floor", "ceil", "round":
				return whole, nil
			case "abs":
				if constant.Sign(whole) < 0 {
					return constant.UnaryOp(token.SUB, whole, 0), nil
				}
				return whole, nil
			}
		}
		x, _ := constant.Float64Val(args[0])
		return fromFloat(f(x))
	case id.Name == "pow" && len(args) == 2:
		return power(args[0], args[1])
	case (id.Name == "min" || id.Name == "max") && len(args) > 0:
		op := map[string]token.Token{"min": token.LSS, "max": token.GTR}[id.Name]
		best := args[0]
		for _, a := range args[1:] {
			if constant.Compare(a, op, best) {
				best = a
			}
		}
		return best, nil
	}
	return nil, fmt.Errorf("there is no function %s of %d numbers", id.Name, len(args))
}

func fromFloat(f float64) (constant.Value, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, errors.New("the result is not a number")
	}
	return constant.MakeFloat64(f), nil
}

// power is exact for small whole exponents.
func power(x, y constant.Value) (constant.Value, error) {
	if n, ok := constant.Int64Val(constant.ToInt(y)); constant.ToInt(y).Kind() == constant.Int && ok && n >= 0 && n <= 4096 {
		out := constant.MakeInt64(1)
		for range n {
			var err error
			if out, err = bounded(constant.BinaryOp(out, token.MUL, x)); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	a, _ := constant.Float64Val(x)
	b, _ := constant.Float64Val(y)
	return fromFloat(math.Pow(a, b))
}
