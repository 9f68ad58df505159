/** The text of a statement in one line and without quotes around names: what tests recognise statements by. */
export function oneLine(statement: string): string {
  return statement
    .replace(/\s+/g, ' ')
    .replace(/\( /g, '(')
    .replace(/ \)/g, ')')
    .replace(/"(\w+)"/g, '$1')
    .trim()
}
