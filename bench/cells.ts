/**
 * Simulates cells: clusters that each hold whole projects, and a directory that places a project where the load is least
 * and moves one when a cell is full. No server runs: it says how even cells stay, and how often a project must move.
 */
import { seededRandom } from '../test/support/dose.ts'
import { report } from './report.ts'
import { percentile } from './statistics.ts'

interface Project {
  /** Shares of a cell that it needs, and data in gigabytes. */
  load: number
  gigabytes: number
}

const months = 36
const seed = 2026
/** A cell is full at this share of what it can do; new cells open when all together are at `opensAt`. */
const fullAt = 0.7
const opensAt = 0.5
/** Gigabytes a second while a project is copied, and the share that is copied while it is frozen. */
const copyRate = 0.1
const frozenShare = 0.01

interface Told {
  moves: number
  projects: number
  largest: number
  fullest: number[]
  frozenSeconds: number[]
}

/** Three years in which `monthly` projects come each month, with loads as skewed as those of tenants are (Pareto, 1.16). */
function simulate(monthly: number, random: () => number): Told & { cells: number } {
  const cells: Project[][] = [[]]
  const told: Told = { moves: 0, projects: 0, largest: 0, fullest: [], frozenSeconds: [] }
  const loadOf = (cell: Project[]) => cell.reduce((sum, { load }) => sum + load, 0)
  const least = () => cells.reduce((best, cell) => (loadOf(cell) < loadOf(best) ? cell : best))
  for (let month = 0; month < months; month++) {
    for (let i = 0; i < monthly; i++) {
      const load = Math.min(0.5, 0.0005 / (1 - random()) ** (1 / 1.16))
      told.largest = Math.max(told.largest, load)
      least().push({ load, gigabytes: load * 50 })
      told.projects++
    }
    // Tenants grow by three per cent a month, some by much more, and their data with them.
    for (const project of cells.flat()) {
      project.load = Math.min(0.6, project.load * (random() < 0.02 ? 2 : 1.03))
      project.gigabytes += project.load * 10
    }
    const all = cells.reduce((sum, cell) => sum + loadOf(cell), 0)
    while (all / cells.length > opensAt) cells.push([])
    relieve(cells, loadOf, least, told)
    told.fullest.push(Math.max(...cells.map(loadOf)))
  }
  return { ...told, cells: cells.length }
}

/** Moves the largest project that fits elsewhere out of each cell that is full. */
function relieve(
  cells: Project[][],
  loadOf: (cell: Project[]) => number,
  least: () => Project[],
  told: Told,
): void {
  for (const cell of cells)
    while (loadOf(cell) > fullAt && cell.length > 1) {
      const target = least()
      const [moved] = cell
        .filter(({ load }) => loadOf(target) + load < fullAt)
        .toSorted((a, b) => b.load - a.load)
      if (!moved || target === cell) break
      cell.splice(cell.indexOf(moved), 1)
      target.push(moved)
      told.moves++
      told.frozenSeconds.push((moved.gigabytes * frozenShare) / copyRate + 2)
    }
}

export async function measureCells(): Promise<void> {
  const random = seededRandom(seed)
  const rows = [50, 500, 2000].map((monthly) => {
    const told = simulate(monthly, random)
    return {
      case: `${monthly} new projects a month`,
      figures: {
        projects: told.projects,
        cells: told.cells,
        'fullest cell, median': percentile(told.fullest, 0.5),
        'fullest cell, worst': Math.max(...told.fullest),
        'moves a month': told.moves / months,
        'moves for 1,000 projects': (told.moves / told.projects) * 1000,
        'frozen s, median': told.frozenSeconds.length > 0 ? percentile(told.frozenSeconds, 0.5) : 0,
      },
    }
  })
  report('cells', `Cells over ${months} months, simulated (seed ${seed})`, rows)
}
