"""File formats of records, reflections and documents: conversion between bytes and values, no disk access."""
