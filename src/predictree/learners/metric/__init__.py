"""Kernel machines with a learned metric, for what trees and curves cannot follow."""

from predictree.learners.metric.estimators import MetricKernelClassifier, MetricKernelRegressor

__all__ = ["MetricKernelClassifier", "MetricKernelRegressor"]
