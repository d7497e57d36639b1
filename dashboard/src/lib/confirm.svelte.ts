/** A question before something that cannot simply be taken back. */
export interface Question {
  title: string;
  text: string;
  yes: string;
  danger?: boolean;
  /** Ask for a line of text too; `exactly` is what must be typed before one can agree. */
  input?: { label: string; value?: string; placeholder?: string; required?: boolean; exactly?: string };
}

class Confirmation {
  question = $state.raw<Question | null>(null);
  #answer: ((answer: string | null) => void) | null = null;

  /** Whether the person agrees. */
  async ask(question: Question): Promise<boolean> {
    return (await this.#ask(question)) !== null;
  }

  /** The text that the person gives; null if they do not. */
  prompt(question: Question): Promise<string | null> {
    return this.#ask(question);
  }

  answer(text: string | null): void {
    this.question = null;
    this.#answer?.(text);
    this.#answer = null;
  }

  #ask(question: Question): Promise<string | null> {
    this.#answer?.(null);
    this.question = question;
    return new Promise((resolve) => (this.#answer = resolve));
  }
}

export const confirmation = new Confirmation();
