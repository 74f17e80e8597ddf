"""Models without scikit-learn's interface; estimators are shells around them."""
