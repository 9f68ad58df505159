/** What agents cost, by model, and the prices that this is reckoned with. */
import { useState } from 'react'
import { Link } from 'wouter'
import { useViewer } from '../../api/viewer.ts'
import { Foreign } from '../../parts/text.tsx'
import { FigureTable } from './figure-table.tsx'
import { PriceDialog, type Price } from './price-dialog.tsx'
import { moneyText } from '../../parts/money.ts'
import { t, numberText } from '../../texts/texts.tsx'

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
  t('Agent'),
  t('Model'),
  { number: t('Runs') },
  { number: t('Input tokens') },
  { number: t('Output tokens') },
  { number: t('Cost') },
  t('Price'),
]

export function SpendingTable({ rows, onPriced }: { rows: readonly Spending[]; onPriced(): void }) {
  const [open, setOpen] = useState<Spending | null>(null)
  const mayPrice = useViewer()?.may('providers:Set') ?? false
  return (
    <section className="chart" aria-label={t('Cost by agent')}>
      <h3>{t('Cost by agent')}</h3>
      {rows.length === 0 ? (
        <p className="mute">{t('No model was asked.')}</p>
      ) : (
        <FigureTable label={t('Cost by agent and model')} columns={columns}>
          {rows.map((row) => (
            <tr key={`${row.agentId} ${row.model}`}>
              <td>
                {row.agent ? (
                  <Link href={`/agents/${row.agentId}`}>
                    <Foreign text={row.agent.name} max={64} />
                  </Link>
                ) : (
                  <span className="mute">{t('a deleted agent')}</span>
                )}
              </td>
              <td className="mono small">
                <Foreign text={row.model} max={80} />
              </td>
              <td className="number">{numberText(row.runs)}</td>
              <td className="number">{numberText(row.inputTokens)}</td>
              <td className="number">{numberText(row.outputTokens)}</td>
              <td className="number">
                {row.cost === null ? <span className="tone-warn">{t('unknown')}</span> : moneyText(row.cost)}
              </td>
              <td>
                <PriceText price={row.price} />{' '}
                {mayPrice && (
                  <button type="button" className="quiet" onClick={() => setOpen(row)}>
                    {row.price ? t('Change') : t('Set it')}
                    <span className="sr-only"> {t('the price of {model}', { model: row.model })}</span>
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
  if (!price) return <span className="mute">{t('none')}</span>
  const { input, output, listedAt } = price
  return (
    <span
      title={listedAt === null ? t('Set for this project') : t('The list price of {day}', { day: listedAt })}
    >
      {moneyText(input)} / {moneyText(output)}
      {listedAt !== null && <span className="small mute"> {t('listed {day}', { day: listedAt })}</span>}
    </span>
  )
}
