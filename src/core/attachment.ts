/** Files that browsers save, and never show. */

/** The header `content-disposition` of a file with this name (RFC 6266). */
export function attachmentNamed(filename: string): string {
  // These are characters of the syntax; encodeURIComponent leaves them.
  const codeOf = (char: string) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`
  return `attachment; filename*=UTF-8''${encodeURIComponent(filename).replace(/['()*]/g, codeOf)}`
}
