/** What several calls of one tool come to: the sums of the numbers that all of them have. Pure. */
import type { PendingRow } from './pending.ts'

type Call = Pick<PendingRow, 'toolName' | 'arguments'>

export interface Total {
  toolName: string
  count: number
  sums: { name: string; sum: number }[]
}

/** For each tool with at least two of these calls; none without a number that all calls of the tool have. */
export function totalsOf(calls: readonly Call[]): Total[] {
  const byTool = new Map<string, Call[]>()
  for (const call of calls) byTool.set(call.toolName, [...(byTool.get(call.toolName) ?? []), call])
  return [...byTool].flatMap(([toolName, group]) => {
    const names = group.length < 2 ? [] : Object.keys(group[0]!.arguments)
    const sums = names.flatMap((name) => {
      const values = group.map((call) => call.arguments[name])
      if (!values.every((value) => typeof value === 'number')) return []
      // Sums of decimals: 0.1 and 0.2 are 0.3.
      return [{ name, sum: Number(values.reduce((sum, value) => sum + value, 0).toPrecision(15)) }]
    })
    return sums.length > 0 ? [{ toolName, count: group.length, sums }] : []
  })
}
