/** The price of a model, for this project. */
import { useState } from 'react'
import { command } from '../../api/command.ts'
import { useMutation } from '../../api/query.ts'
import { Field } from '../../parts/fields.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { useAction } from '../../parts/use-action.ts'
import { t } from '../../texts/texts.tsx'

export interface Price {
  input: number
  cachedInput: number
  output: number
  /** The day of the list; null: the price was set for the project. */
  listedAt: string | null
}

const setMutation = command('setModelPrice')
const deleteMutation = command('deleteModelPrice')

interface Props {
  model: string
  price: Price | null
  onClose(isChanged: boolean): void
}

export function PriceDialog({ model, price, onClose }: Props) {
  const [input, setInput] = useState(textOf(price?.input))
  const [cached, setCached] = useState(textOf(price?.cachedInput))
  const [output, setOutput] = useState(textOf(price?.output))
  const form = useMutation(setMutation)
  const remove = useAction(deleteMutation)
  const issues = form.refused?.issues ?? []
  const save = async () => {
    const cachedInput = numberOf(cached)
    const rates = { input: numberOf(input) ?? NaN, output: numberOf(output) ?? NaN }
    const given = { model, ...rates, ...(cachedInput === null ? {} : { cachedInput }) }
    if (await form.send({ input: given })) onClose(true)
  }
  return (
    <FormDialog
      title={t('Price of {model}', { model })}
      submit={t('Save the price')}
      isReady={numberOf(input) !== null && numberOf(output) !== null}
      form={form}
      onSubmit={save}
      onClose={() => onClose(false)}
      foot={
        price?.listedAt === null && (
          <button
            type="button"
            className="quiet"
            disabled={remove.isRunning}
            onClick={() =>
              void remove.act({ input: { model } }, t('The price is removed.')).then((done) => {
                if (done) onClose(true)
              })
            }
          >
            {t('Remove this price')}
          </button>
        )
      }
    >
      <p className="mute">
        {t('US dollars for a million tokens, as the provider bills them. Figures of the past change too.')}
      </p>
      <Field
        label={t('Input tokens')}
        at="input"
        value={input}
        onChange={setInput}
        issues={issues}
        isRequired
      />
      <Field
        label={t('Of these, read from the provider’s cache')}
        at="cachedInput"
        value={cached}
        onChange={setCached}
        hint={t('Empty: like other input tokens.')}
        issues={issues}
      />
      <Field
        label={t('Output tokens')}
        at="output"
        value={output}
        onChange={setOutput}
        issues={issues}
        isRequired
      />
    </FormDialog>
  )
}

const textOf = (value: number | undefined): string => (value === undefined ? '' : String(value))

/** The number that was typed; null for none. */
function numberOf(text: string): number | null {
  const value = Number(text.trim().replace(',', '.'))
  return text.trim() === '' || !Number.isFinite(value) || value < 0 ? null : value
}
