/**
 * Copy: text to take along.
 *
 * Does I/O: the clipboard, and files.
 */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'

function CopyButton({ text, label = 'Copy' }: { readonly text: string; readonly label?: string }): JSX.Element {
  const [said, setSaid] = useState('')
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text)
      setSaid('Copied')
    } catch {
      // Over plain HTTP from another machine a browser has no clipboard.
      setSaid('Select and copy it by hand')
    }
    setTimeout(() => setSaid(''), 2_000)
  }
  return (
    <button type="button" class="small" onClick={() => void copy()}>
      <span aria-live="polite">{said === '' ? label : said}</span>
    </button>
  )
}

export function Code({ text, label }: { readonly text: string; readonly label?: string }): JSX.Element {
  return (
    <div class="code">
      <pre tabIndex={0} aria-label={label ?? 'Text to copy'}>
        {text}
      </pre>
      <CopyButton text={text} />
    </div>
  )
}

export function saveFile(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/plain' }))
  const anchor = document.createElement('a')
  anchor.href = url
  anchor.download = name
  anchor.click()
  setTimeout(() => URL.revokeObjectURL(url), 1_000)
}
