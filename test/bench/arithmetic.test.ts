/** The arithmetic and the command lines of the measurements. */
import { describe, expect, it } from 'vitest'
import { benchArguments, compareArguments } from '../../bench/arguments.ts'
import { compared } from '../../bench/comparison.ts'
import { tableOf, type Run } from '../../bench/report.ts'
import { inLanes, inTime, median, percentile, rounded } from '../../bench/statistics.ts'

const known = ['limit', 'units', 'query']
const run = (value: number, label = 'postgres'): Run => ({
  node: 'v20',
  cores: 2,
  measured: [{ part: 'units', case: label, figures: { 'units/s': value } }],
})

describe('statistics', () => {
  it('takes percentiles of unsorted values and leaves them as they are', () => {
    const values = [5, 1, 4, 2, 3]
    expect([0, 0.5, 0.99].map((share) => percentile(values, share))).toEqual([1, 3, 5])
    expect(values).toEqual([5, 1, 4, 2, 3])
    expect(percentile([], 0.5)).toBeNaN()
  })

  it('takes the middle value, or the mean of the two in the middle', () => {
    expect(median([9, 1, 5])).toBe(5)
    expect(median([4, 1, 2, 9])).toBe(3)
    expect(median([])).toBeNaN()
  })

  it('keeps three significant digits and every digit before the decimal point', () => {
    expect([12_345.6, 12.345, 0.012345, 0, -3.14159, Number.NaN].map(rounded)).toEqual([
      12_346,
      12.3,
      0.0123,
      0,
      -3.14,
      Number.NaN,
    ])
  })

  it('runs exactly as often as asked and never more at once than asked', async () => {
    let [now, most, runs] = [0, 0, 0]
    await inLanes(25, 4, async () => {
      most = Math.max(most, ++now)
      runs++
      await Promise.resolve()
      now--
    })
    expect([runs, most, now]).toEqual([25, 4, 0])
  })

  it('fails with the first failure', async () => {
    await expect(inLanes(3, 2, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    await expect(inTime(1, 2, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  })

  it('runs each lane once when there is no time, and counts what is done', async () => {
    expect(await inTime(0, 4, () => Promise.resolve())).toEqual({ done: 4, seconds: expect.any(Number) })
  })
})

describe('command lines', () => {
  it('takes all measurements when none is named, and named ones in the order of all', () => {
    expect(benchArguments([], known)).toEqual({ names: known, json: false, runs: null })
    expect(benchArguments(['query', '--json', 'limit', '--runs=50'], known)).toEqual({
      names: ['limit', 'query'],
      json: true,
      runs: 50,
    })
  })

  it('refuses what it does not know, with what it knows', () => {
    expect(() => benchArguments(['unit'], known)).toThrow('Unknown: unit. Known are limit, units, query.')
    expect(() => benchArguments(['--jsn'], known)).toThrow('Unknown option: --jsn')
    expect(() => benchArguments(['--runs=some'], known)).toThrow('--runs must be a whole number')
  })

  it('compares two commits and needs a measurement', () => {
    expect(compareArguments(['v1', 'HEAD', 'units', '--rounds=5'], known)).toEqual({
      commits: ['v1', 'HEAD'],
      names: ['units'],
      rounds: 5,
    })
    expect(compareArguments(['v1', 'HEAD', 'units'], known).rounds).toBe(3)
    expect(() => compareArguments(['v1', 'HEAD'], known)).toThrow('Usage')
    expect(() => compareArguments(['v1', 'HEAD', 'unit'], known)).toThrow('Unknown: unit')
    for (const rounds of ['0', 'x', '1.5', ''])
      expect(() => compareArguments(['v1', 'HEAD', 'units', `--rounds=${rounds}`], known)).toThrow('--rounds')
  })
})

describe('reports', () => {
  it('compares the medians of what both sides have measured', () => {
    const sides = { A: [run(10), run(30), run(20)], B: [run(50), run(40), run(1000), run(7, 'other')] }
    expect(compared(sides)).toEqual([
      { part: 'units', rows: [{ case: 'postgres: units/s', figures: { A: 20, B: 50, 'B/A': 2.5 } }] },
    ])
  })

  it('prints one line for each case and leaves a cell empty that has no figure', () => {
    const table = tableOf([
      { case: 'a', figures: { x: 1 } },
      { case: 'long', figures: { x: 22, y: 3 } },
    ])
    expect(table.split('\n')).toEqual(['       x  y', 'a      1   ', 'long  22  3'])
  })
})
