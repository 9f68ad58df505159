/** What agents cost, by model, and the prices that this is reckoned with. */
import { useState } from 'react'
import { Link } from 'wouter'
import { useViewer } from '../../../api/viewer.ts'
import { Foreign } from '../../../parts/text.tsx'
import { FigureTable } from './figure-table.tsx'
import { PriceDialog, type Price } from './price-dialog.tsx'
import { moneyText } from '../../../parts/money.ts'
import { numberText } from './sums.ts'

export interface Spending {
  agentId: string
  agent: { name: string } | null
  model: string
  runs: number
  inputTokens: number
  outputTokens: number
  cost: number | null
  price: Price | null
}

const columns = [
  'Agent',
  'Model',
  { number: 'Runs' },
  { number: 'Tokens read' },
  { number: 'Tokens written' },
  { number: 'Cost' },
  'Price',
]

export function SpendingTable({ rows, onPriced }: { rows: readonly Spending[]; onPriced(): void }) {
  const [open, setOpen] = useState<Spending | null>(null)
  const mayPrice = useViewer()?.may('providers:Set') ?? false
  return (
    <section className="chart" aria-label="What agents cost">
      <h3>What agents cost</h3>
      {rows.length === 0 ? (
        <p className="mute">No model was asked.</p>
      ) : (
        <FigureTable label="Cost by agent and model" columns={columns}>
          {rows.map((row) => (
            <tr key={`${row.agentId} ${row.model}`}>
              <td>
                {row.agent ? (
                  <Link href={`/agents/${row.agentId}`}>
                    <Foreign text={row.agent.name} max={64} />
                  </Link>
                ) : (
                  <span className="mute">a deleted agent</span>
                )}
              </td>
              <td className="mono small">
                <Foreign text={row.model} max={80} />
              </td>
              <td className="statistics-number">{numberText(row.runs)}</td>
              <td className="statistics-number">{numberText(row.inputTokens)}</td>
              <td className="statistics-number">{numberText(row.outputTokens)}</td>
              <td className="statistics-number">
                {row.cost === null ? <span className="tone-warn">unknown</span> : moneyText(row.cost)}
              </td>
              <td>
                <PriceText price={row.price} />{' '}
                {mayPrice && (
                  <button type="button" className="quiet" onClick={() => setOpen(row)}>
                    {row.price ? 'Change' : 'Set it'}
                    <span className="sr-only"> the price of {row.model}</span>
                  </button>
                )}
              </td>
            </tr>
          ))}
        </FigureTable>
      )}
      {open && (
        <PriceDialog
          model={open.model}
          price={open.price}
          onClose={(isChanged) => {
            setOpen(null)
            if (isChanged) onPriced()
          }}
        />
      )}
    </section>
  )
}

function PriceText({ price }: { price: Price | null }) {
  if (!price) return <span className="mute">none</span>
  const { input, output, listedAt } = price
  return (
    <span title={listedAt === null ? 'Set for this project' : `The list price of ${listedAt}`}>
      {moneyText(input)} / {moneyText(output)}
      {listedAt !== null && <span className="small mute"> listed {listedAt}</span>}
    </span>
  )
}
