/** The query of the address as the state of a list, so that `back` and a link bring it back. */
import { useSearchParams } from 'wouter'
import { withMembers, type Members } from './members.ts'

/** The query, and how to change it: as a step that `back` undoes, or, while somebody types, in place. */
export function useAddress() {
  const [params, setParams] = useSearchParams()
  return {
    params,
    go: (members: Members) => setParams((before) => withMembers(before, members)),
    replace: (members: Members) => setParams((before) => withMembers(before, members), { replace: true }),
  }
}

/** Whether the dialog is open that creates one of these: `?new=` of the address has it, so that a link opens it too. */
export function useNew(id: string): [isOpen: boolean, setOpen: (isOpen: boolean) => void] {
  const { params, replace } = useAddress()
  return [params.get('new') === id, (isOpen) => replace({ new: isOpen ? id : null })]
}
