/** A JSON document that is imported: as a file, or as its text. */
import { LongField } from '../../../parts/fields.tsx'
import { t } from '../../../texts/texts.tsx'

interface Props {
  value: string
  onChange(text: string): void
  /** Called with the text of a file that was chosen. */
  onFile(text: string): void
  rows: number
}

export function DocumentFields({ value, onChange, onFile, rows }: Props) {
  return (
    <>
      <label className="field">
        <span className="label">{t('A file')}</span>
        <input
          type="file"
          accept=".json,application/json"
          onChange={(event) => {
            const [file] = event.target.files ?? []
            if (file) void file.text().then(onFile)
          }}
        />
      </label>
      <LongField label={t('Or the document itself')} value={value} onChange={onChange} rows={rows} isMono />
    </>
  )
}
