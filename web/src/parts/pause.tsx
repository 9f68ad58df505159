/** Stopping a project, an agent or a tool, and letting it go on. */
import { useState } from 'react'
import './forms.css'
import { command } from '../api/command.ts'
import { useMutation } from '../api/query.ts'
import { currentProject } from '../api/session.ts'
import { useViewer } from '../api/viewer.ts'
import { FormDialog } from './form-dialog.tsx'
import { Icon } from './icons.tsx'
import { ReasonField } from './reason-field.tsx'
import { Foreign } from './text.tsx'
import { toast } from './toasts.tsx'
import { useAction } from './use-action.ts'
import { t } from '../texts/texts.tsx'

const pauseMutation = command('pause')
const resumeMutation = command('resume')

interface Props {
  /** What is stopped. */
  target: { agentId: string } | { toolId: string } | { projectId: string | null }
  /** As the button and the dialog call it: "Pause everything". */
  word: string
  /** What happens, in a sentence. */
  effect: string
  /** Whether the button shows its icon alone, in the frame. */
  isIcon?: boolean
}

/** The whole project, as the frame and the palette stop it. */
export const pauseProject = () => ({
  target: { projectId: currentProject() },
  word: t('Pause everything'),
  effect: t('Nothing in this project calls a model or sends a tool call.'),
})

/** A button that stops it, for those who may; the bar above every screen says so then. */
export function PauseButton({ target, word, effect, isIcon = false }: Props) {
  const [isOpen, setOpen] = useState(false)
  if (!useViewer()?.may('projects:Pause')) return null
  return (
    <>
      {isIcon ? (
        <button
          type="button"
          className="quiet tone-bad"
          aria-label={word}
          title={word}
          onClick={() => setOpen(true)}
        >
          <Icon name="pause" />
        </button>
      ) : (
        <button type="button" className="danger" onClick={() => setOpen(true)}>
          <Icon name="pause" /> {word}
        </button>
      )}
      {isOpen && <PauseDialog target={target} word={word} effect={effect} onClose={() => setOpen(false)} />}
    </>
  )
}

export function PauseDialog({ target, word, effect, onClose }: Props & { onClose(): void }) {
  const [reason, setReason] = useState('')
  const form = useMutation(pauseMutation)
  return (
    <FormDialog
      title={`${word}?`}
      submit={word}
      busy={t('Stopping …')}
      isDanger
      isReady
      form={form}
      cancel={t('Cancel')}
      onClose={onClose}
      onSubmit={async () => {
        if (!(await form.send({ input: { ...target, reason: reason.trim() || null } }))) return
        toast(t('Paused: nothing more is sent.'), { tone: 'good' })
        onClose()
      }}
    >
      <p>
        {t(
          '{effect} Calls already sent are not affected, people can still decide, and everything continues where it stopped when you resume.',
          { effect },
        )}
      </p>
      <ReasonField
        label={t('Reason, shown while it is paused')}
        most={2000}
        value={reason}
        onChange={setReason}
      />
    </FormDialog>
  )
}

/** Lets it go on, for those who may. `of` names it for a screen reader. */
export function ResumeButton({ pauseId, of }: { pauseId: string; of: string }) {
  const { act, isRunning } = useAction(resumeMutation)
  if (!useViewer()?.may('projects:Pause')) return null
  return (
    <button
      type="button"
      disabled={isRunning}
      onClick={() => void act({ input: { pauseId } }, t('It goes on where it stopped.'), 'good')}
    >
      <Icon name="play" /> {t('Resume')}
      <span className="sr-only">
        {' '}
        <Foreign text={of} max={80} />
      </span>
    </button>
  )
}
